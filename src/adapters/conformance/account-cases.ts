import assert from 'node:assert/strict';
import { isSameAddress } from '../../lib/text.ts';
import type { Member } from '../adapter.ts';
import { aborted, type Bench, type ConformanceCase, type ConformanceHarness, toCase } from './harness.ts';

/** Accounts: who made them, and that no account from before is ended (design section 2). */
export const accountCases: readonly ConformanceCase[] = [
  toCase(
    'gives one account another address',
    async ({ adapter, firstGroup, toPerson, signal, withMember, find }) => {
      const [person, other] = [toPerson(13), toPerson(15)];
      const { email } = toPerson(14);
      await withMember(person, async (member) => {
        await withMember(other, async ({ id: otherId }) => {
          const update = async (given: AbortSignal) => await adapter.updateEmail?.(firstGroup, member, email, given);
          await assert.rejects(update(aborted), 'a call that was given up is not made');
          const known = { ...person, memberId: member.id };
          assert.equal((await find(known))?.email, member.email);
          // The second call finds the address changed already.
          for (const _ of [1, 2]) await update(signal());
          const found = await find(known);
          assert.equal(found?.id, member.id, 'the account is the same');
          assert.equal(found?.email?.toLowerCase(), email.toLowerCase(), 'it has the address');
          const kept = await find({ ...other, memberId: otherId });
          assert.equal(kept?.email?.toLowerCase(), other.email.toLowerCase(), 'other accounts keep theirs');
        });
      });
    },
    ({ adapter }) => adapter.updateEmail === undefined && 'the adapter changes no addresses',
  ),

  toCase(
    'says whether it made an account',
    async ({ adapter, firstGroup, toPerson, signal, findAccount, cleanUp }) => {
      const person = toPerson(80);
      const before = await findAccount(person);
      const added = await adapter.addMember(firstGroup, person, signal());
      // If people sign up themselves, the tool says when the account was made.
      if (added.isUnlisted) return;
      try {
        const isKnown = added.account !== undefined || adapter.findAccount !== undefined;
        assert.ok(isKnown, 'an adapter that changes accounts says who made them');
        assert.equal(before ?? null, null, 'a person without an account is not found');
        assert.notEqual(added.account, 'found', 'the account of a new person is not one that was found');
        const after = await findAccount(person);
        if (after !== undefined) assert.equal(after?.id, added.id, 'the account is found by its address');
        const again = await adapter.addMember(firstGroup, person, signal());
        assert.notEqual(again.account, 'made', 'an existing account is not made again');
      } finally {
        await cleanUp(added);
      }
    },
    skipsWithoutAccounts,
  ),

  toCase(
    'keeps the account of a member that it removes from a group',
    async (bench) => {
      const { adapter, firstGroup, signal } = bench;
      const person = bench.toPerson(81);
      const added = await adapter.addMember(firstGroup, person, signal());
      if (added.isUnlisted) return;
      try {
        const isOut = await tryToRemove(bench, added);
        assert.equal((await bench.findAccount(person))?.id, added.id, 'the account still exists');
        if (isOut) assert.equal(await bench.find(person), null);
      } finally {
        await bench.cleanUp(added);
      }
    },
    ({ adapter }) => adapter.findAccount === undefined && 'the adapter looks for no accounts',
  ),

  toCase(
    'ends no account that it did not make',
    async (bench) => {
      const { harness, adapter, firstGroup, signal } = bench;
      const person = bench.toPerson(82);
      await harness.seedAccount?.(person);
      const before = await bench.findAccount(person);
      const isThere = await bench.find(person);
      const added = isThere ?? (await adapter.addMember(firstGroup, person, signal()));
      const isFound = before != null || isThere !== null || ('account' in added && added.account === 'found');
      assert.ok(isFound, 'the adapter says that it found an account that existed before');
      await tryToRemove(bench, added);
      assert.equal(await harness.hasAccount?.(person), true, 'the owner of an account from before can still get in');
    },
    (harness) =>
      harness.seedAccount === undefined ? 'only the adapter can make an account here' : skipsWithoutAccounts(harness),
  ),

  toCase(
    'shows the new owner of an id that was given out again',
    async ({ harness, adapter, toPerson, signal, add, find, cleanUp }) => {
      const [person, other] = [toPerson(83), toPerson(84)];
      const { id } = await add(person);
      await harness.giveOut?.(id, other.email);
      for (const shown of [await find({ ...person, memberId: id }), await adapter.findAccountById?.(id, signal())]) {
        if (shown?.id !== id) continue;
        const isTheirs = shown.email !== null && isSameAddress(shown.email, other.email);
        assert.ok(isTheirs, 'the new owner is shown with their own address');
      }
      assert.equal(await find(person), null, 'no member has their address');
      const again = await add(person);
      assert.notEqual(again.id, id, 'they get an account of their own');
      await cleanUp(again);
      const left = await find(other);
      assert.equal(left?.id, id, 'the new owner of the id stays a member');
      if (left !== null) await cleanUp(left);
    },
    ({ giveOut }) => giveOut === undefined && 'no id is given out again here',
  ),
];

function skipsWithoutAccounts({ adapter: { removeAccount, updateEmail } }: ConformanceHarness): string | false {
  return removeAccount === undefined && updateEmail === undefined && 'the adapter changes no accounts';
}

/** @returns false if the removal is refused, because it would have to end the account */
async function tryToRemove({ remove }: Bench, member: Member): Promise<boolean> {
  try {
    await remove(member);
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'conflict') return false;
    throw error;
  }
}
