import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { membershipStates, receiptOutcomes } from '../../../src/domain/membership.ts';
import {
  type ComparedMembership,
  judgeAddBack,
  judgeDrift,
  judgeUnconfirmed,
  type ListedAccount,
} from '../../../src/reconcile/drift/judge-drift.ts';

const at = '2026-03-15T11:00:00.000Z';

function known(id: number, changes: Partial<ComparedMembership> = {}): ComparedMembership {
  return {
    id,
    wanted: true,
    state: 'active',
    memberId: `m${id}`,
    addresses: [`a${id}`],
    given: changes.addresses ?? [`a${id}`],
    address: `a${id}`,
    open: [],
    isToConfirm: false,
    lastOutcome: 'added',
    wasCalled: false,
    updatedAt: at,
    ...changes,
  };
}

const gone = { wanted: false, state: 'removed', lastOutcome: 'removed' } as const;

function account(id: string, changes: Partial<ListedAccount> = {}): ListedAccount {
  return { id, digests: [], isManaged: false, isProtected: false, ...changes };
}

describe('a tool lists', () => {
  const cases: [string, ComparedMembership[], ListedAccount[], string[]][] = [
    ['a member by its id', [known(1)], [account('m1')], []],
    ['a member by address, with another id', [known(1)], [account('x', { digests: ['a1'] })], ['id_changed 1']],
    [
      'a reused id, and its former member under another id',
      [known(1)],
      [account('m1', { digests: ['other'] }), account('x', { digests: ['a1'] })],
      ['address_changed 1'],
    ],
    [
      'a reused id, and its former member under none',
      [known(1)],
      [account('m1', { digests: ['other'] })],
      ['address_changed 1'],
    ],
    [
      'two members whose ids were swapped',
      [known(1), known(2)],
      [account('m2', { digests: ['a1'] }), account('m1', { digests: ['a2'] })],
      ['id_changed 1', 'id_changed 2'],
    ],
    ['no member', [known(1)], [], ['missing 1']],
    ['no member, while a call is made', [known(1, { wasCalled: true })], [], []],
    ['no removed trainer', [known(1, gone)], [], []],
    ['a stranger', [], [account('x')], ['stranger x']],
    ['a managed stranger', [], [account('x', { isManaged: true })], ['leak x']],
    ['a removed trainer by id', [known(1, gone)], [account('m1')], ['found_again 1']],
    ['a removed trainer by address', [known(1, gone)], [account('x', { digests: ['a1'] })], ['found_again 1']],
    ['an old id with another address', [known(1, gone)], [account('m1', { digests: ['other'] })], ['stranger m1']],
    ['a removed trainer, while a call is made', [known(1, { ...gone, wasCalled: true })], [account('m1')], []],
    ['an account that another member has too', [known(1, gone), known(2, { memberId: 'm1' })], [account('m1')], []],
    [
      'an account that another member has by its id alone',
      [known(1, gone), known(2, { memberId: 'm1' })],
      [account('m1', { digests: ['a1'] })],
      ['address_changed 2'],
    ],
    [
      'an account that two removed trainers had',
      [known(1, gone), known(2, { ...gone, memberId: 'm1' })],
      [account('m1', { isManaged: true })],
      ['leak m1'],
    ],
    [
      'a removed trainer whose address was forgotten',
      [known(1, { ...gone, addresses: [], address: null })],
      [account('m1')],
      ['stranger m1'],
    ],
    [
      'a removed trainer by an address under which no access was given',
      [known(1, { ...gone, given: [] })],
      [account('x', { digests: ['a1'] })],
      ['stranger x'],
    ],
    [
      'a member under an address that is not the registered one',
      [known(1)],
      [account('m1', { digests: ['old'] })],
      ['address_changed 1'],
    ],
    ['a member by an address digest of an older key', [known(1)], [account('m1', { digests: ['new', 'a1'] })], []],
  ];

  it.each(cases)('%s', (_, memberships, listed, verdicts) => {
    expect(judgeDrift(memberships, listed).map(summarise)).toEqual(verdicts);
  });

  it('and the members who were looked at longest ago come first', () => {
    const late = known(1, { updatedAt: '2026-03-15T11:30:00.000Z' });
    expect(judgeDrift([late, known(2)], []).map(summarise)).toEqual(['missing 2', 'missing 1']);
  });

  it('and no member is removed who cannot be told from others, whatever is known and listed', () => {
    const names = fc.constantFrom('a', 'b', 'c');
    const membership = fc.record({
      wanted: fc.boolean(),
      state: fc.constantFrom(...membershipStates),
      memberId: fc.option(names),
      addresses: fc.uniqueArray(names),
      given: fc.uniqueArray(names),
      open: fc.uniqueArray(names),
      isToConfirm: fc.boolean(),
      address: fc.option(names),
      lastOutcome: fc.option(fc.constantFrom(...receiptOutcomes)),
      wasCalled: fc.boolean(),
      updatedAt: fc.constant(at),
    });
    const listing = fc.uniqueArray(
      fc.record({
        id: names,
        digests: fc.uniqueArray(names, { maxLength: 2 }),
        isManaged: fc.boolean(),
        isProtected: fc.boolean(),
      }),
      { selector: ({ id }) => id },
    );
    fc.assert(
      fc.property(fc.array(membership, { maxLength: 5 }), listing, (memberships, listed) => {
        const all = memberships.map((one, id) => ({ ...one, id }));
        for (const verdict of judgeDrift(all, listed)) {
          if (verdict.kind !== 'found_again') continue;
          const owner = all.find(({ id }) => id === verdict.membershipId);
          const found = listed.find(({ id }) => id === verdict.memberId);
          const { lastOutcome: _, ...isGone } = gone;
          expect(owner).toMatchObject({ ...isGone, wasCalled: false });
          const isLate = owner?.memberId === null && owner.open.length > 0;
          expect(owner?.lastOutcome === 'removed' || found?.isManaged || isLate).toBe(true);
          expect(found?.isProtected).toBe(false);
          const others = all.filter(
            ({ id, memberId, addresses }) =>
              id !== owner?.id && (memberId === found?.id || addresses.some((one) => found?.digests.includes(one))),
          );
          expect(others).toEqual([]);
        }
      }),
    );
  });
});

describe('a missing member', () => {
  const now = new Date('2026-03-15T12:00:00.000Z');
  const arrived = (outcome: 'added' | 'invited' | 'already_member', hour: string) => ({
    outcome,
    at: `2026-03-15T${hour}.000Z`,
  });

  it.each([
    ['without a receipt of their arrival is added back', [], true, 0],
    ['who came in today is added back', [arrived('added', '11:59:00')], true, 0],
    [
      'who was added back an hour ago is added back again',
      [arrived('already_member', '08:00:00'), arrived('added', '11:00:00')],
      ...([true, 1] as const),
    ],
    [
      'who was added back just now waits',
      [arrived('invited', '08:00:00'), arrived('invited', '11:01:00')],
      ...([false, 1] as const),
    ],
    [
      'who has accepted an invitation is added back',
      [arrived('invited', '08:00:00'), arrived('already_member', '11:30:00')],
      ...([true, 0] as const),
    ],
  ])('%s', (_, arrivals, isDue, timesAddedBack) => {
    expect(judgeAddBack(arrivals, now)).toEqual({ isDue, timesAddedBack });
  });
});

function summarise(verdict: ReturnType<typeof judgeDrift>[number]): string {
  const isOfMember = verdict.kind === 'stranger' || verdict.kind === 'leak';
  return `${verdict.kind} ${isOfMember ? verdict.memberId : verdict.membershipId}`;
}

describe('a removed trainer whose absence is to be confirmed', () => {
  const unconfirmed = known(1, { ...gone, isToConfirm: true });
  const judge = (one: ComparedMembership, ...listed: ListedAccount[]) => judgeUnconfirmed([one], listed);

  it('is still in if listed by address, or by account id under any address', () => {
    const stillIn = { stillIn: [1], confirmed: [] };
    expect(judge(unconfirmed, account('x', { digests: ['a1'] }))).toEqual(stillIn);
    expect(judge(unconfirmed, account('m1', { digests: ['chosen'] }))).toEqual(stillIn);
  });

  it('is confirmed as out if the list shows neither, and other trainers are not judged', () => {
    expect(judge(unconfirmed, account('x', { digests: ['other'] }))).toEqual({ stillIn: [], confirmed: [1] });
    expect(judge(known(1, gone), account('m1', { digests: ['chosen'] }))).toEqual({ stillIn: [], confirmed: [] });
  });
});
