import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeRegisters, type PersonEvidence, versionOfEvent, versionOfRead } from '../../src/domain/evidence.ts';
import { anyText } from '../support/any-text.ts';
import { tries } from '../support/tries.ts';

/** Few enough for ties, odd enough for mistakes of comparison. */
const text = fc.oneof(
  fc.constantFrom('', '0:', '1:', 'a', 'A', 'ä', 'a\u0308', '😀', '\uffff', '__proto__', '9', '10'),
  fc.constantFrom(versionOfEvent('9'), versionOfEvent('10'), versionOfEvent(null)),
  fc.constantFrom(versionOfRead('2026-03-15T12:00:00.000Z'), '2026-03-15T12:00:00.000Z'),
  anyText({ maxLength: 3 }),
);
const register = fc.option(text, { freq: 3 });

function rowOf(key: Record<string, string>, ...columns: string[]) {
  const shape = Object.fromEntries(columns.map((column) => [column, register]));
  return fc.record(shape).map((row) => ({ ...key, ...row }));
}

const rows = {
  contract: rowOf(
    { install: 'acme', contractId: 'c1' },
    'startedEventAt',
    'endedEventAt',
    'activeReadAt',
    'endedReadAt',
    'budgetEventAt',
    'title',
    'titleVersion',
    'startDate',
    'startDateVersion',
  ),
  link: rowOf(
    { install: 'acme', linkId: 'l1' },
    'removedEventAt',
    'firstSeenAt',
    'seenAt',
    'externalProjectId',
    'externalProjectName',
    'provisioningMode',
    'provisioningModeVersion',
  ),
  grant: rowOf({ install: 'acme', grantId: 'g1' }, 'revokedEventAt', 'firstActiveReadAt', 'activeReadAt'),
  pair: rowOf({ install: 'acme', contractId: 'c1', linkId: 'l1' }, 'namedAt'),
  participation: rowOf({ install: 'acme', contractId: 'c1', trainerId: 't1' }, 'seenAt'),
  person: rowOf(
    { install: 'acme', trainerId: 't1' },
    'displayName',
    'displayNameVersion',
    'workEmail',
    'workEmailVersion',
    'addressMissing',
    'addressMissingVersion',
  ),
};

describe.each(Object.entries(rows))('merging rows of a %s', (_kind, row) => {
  it('is commutative', () => {
    fc.assert(
      fc.property(row, row, (a, b) => {
        expect(mergeRegisters(a, b)).toEqual(mergeRegisters(b, a));
      }),
      { numRuns: tries(2000) },
    );
  });

  it('is associative', () => {
    fc.assert(
      fc.property(row, row, row, (a, b, c) => {
        const left = mergeRegisters(mergeRegisters(a, b), c);
        expect(left).toEqual(mergeRegisters(a, mergeRegisters(b, c)));
      }),
      { numRuns: tries(2000) },
    );
  });

  it('is idempotent', () => {
    fc.assert(
      fc.property(row, row, (a, b) => {
        expect(mergeRegisters(a, a)).toEqual(a);
        const merged = mergeRegisters(a, b);
        expect(mergeRegisters(merged, b)).toEqual(merged);
        expect(mergeRegisters(a, merged)).toEqual(merged);
      }),
      { numRuns: tries(2000) },
    );
  });
});

describe('merging', () => {
  type Name = Pick<PersonEvidence, 'displayName' | 'displayNameVersion'>;
  type Attributes = Omit<PersonEvidence, 'install' | 'trainerId'>;

  it('keeps the first time and the last time', () => {
    const early = { firstSeenAt: '2026-03-15T11:00:00.000Z', seenAt: '2026-03-15T11:00:00.000Z' };
    const late = { firstSeenAt: '2026-03-15T12:00:00.000Z', seenAt: '2026-03-15T12:00:00.000Z' };
    expect(mergeRegisters(late, early)).toEqual({ ...early, seenAt: late.seenAt });
    const unset: Partial<Record<keyof typeof early, string | null>> = { firstSeenAt: null, seenAt: null };
    expect(mergeRegisters(unset, early)).toEqual(early);
    expect(mergeRegisters<typeof unset>(early, unset)).toEqual(early);
  });

  it('never replaces a known value by an absent one', () => {
    const absent: Name = { displayName: null, displayNameVersion: null };
    const known: Name = { displayName: 'Amara O.', displayNameVersion: versionOfEvent('7') };
    expect(mergeRegisters(known, absent)).toEqual(known);
    expect(mergeRegisters(absent, known)).toEqual(known);
  });

  it('takes the value of the greater version, not the greater value', () => {
    const older = { displayName: 'Zoe', displayNameVersion: versionOfEvent('9') };
    const newer = { displayName: 'Ana', displayNameVersion: versionOfEvent('10') };
    expect(mergeRegisters(older, newer)).toEqual(newer);
  });

  it('keeps each attribute with its version', () => {
    const fromEvent: Attributes = {
      displayName: 'Amara',
      displayNameVersion: versionOfEvent('5'),
      workEmail: 'a@opentrain.work',
      workEmailVersion: versionOfEvent('5'),
      addressMissing: null,
      addressMissingVersion: null,
    };
    const fromRead: Attributes = {
      displayName: 'Amara O.',
      displayNameVersion: versionOfRead('2026-03-15T12:00:00.000Z'),
      workEmail: null,
      workEmailVersion: null,
      addressMissing: null,
      addressMissingVersion: null,
    };
    expect(mergeRegisters(fromEvent, fromRead)).toEqual({
      ...fromRead,
      workEmail: 'a@opentrain.work',
      workEmailVersion: versionOfEvent('5'),
      addressMissing: null,
      addressMissingVersion: null,
    });
  });
});

describe('versions', () => {
  it.each([
    ['a number below one of more digits', versionOfEvent('9'), versionOfEvent('10')],
    ['no id below the id 0', versionOfEvent(null), versionOfEvent('0')],
    ['no id below an id of letters', versionOfEvent(null), versionOfEvent('evt_a')],
    ['any event below any read', versionOfEvent('9'.repeat(200)), versionOfRead('2020-01-01')],
    ['an id of letters below a read', versionOfEvent('zzz'), versionOfRead('2020-01-01')],
    ['40 digits below 41', versionOfEvent('9'.repeat(40)), versionOfEvent(`1${'0'.repeat(40)}`)],
    [
      'an earlier read below a later one',
      versionOfRead('2026-03-15T09:59:59.999Z'),
      versionOfRead('2026-03-15T10:00:00.000Z'),
    ],
  ])('put %s', (_, lesser, greater) => {
    expect(lesser < greater).toBe(true);
  });

  it('of numbers sort like the numbers, up to the longest id', () => {
    const id = fc.oneof(fc.bigInt({ min: 0n, max: 10n ** 199n }), fc.bigInt({ min: 0n, max: 200n }));
    fc.assert(
      fc.property(id, id, (a, b) => {
        const [left, right] = [versionOfEvent(String(a)), versionOfEvent(String(b))];
        expect(Math.sign(Number(left > right) - Number(left < right))).toBe(Number(a > b) - Number(a < b));
      }),
      { numRuns: tries(2000) },
    );
  });

  it('ignore leading zeros', () => {
    expect(versionOfEvent('0042')).toBe(versionOfEvent('42'));
  });
});
