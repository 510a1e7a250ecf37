import { expect, it } from 'vitest';
import { emptyContract } from '../../src/domain/evidence.ts';
import {
  endOfContract,
  isNoteStale,
  isPersonOver,
  needsNote,
  type RetainedContract,
} from '../../src/privacy/retention.ts';

const first = '2026-01-01T00:00:00.000Z';
const second = '2026-02-01T00:00:00.000Z';
const third = '2026-03-01T00:00:00.000Z';

it.each<[string, Partial<RetainedContract>, string | null]>([
  ['of nothing known is not known', {}, null],
  ['of an active one is none', { startedEventAt: first }, null],
  ['is when its event says', { startedEventAt: first, endedEventAt: second }, second],
  ['said by an event counts, whatever is read later', { endedEventAt: first, endedReadAt: third }, first],
  ['that is disputed is none', { endedEventAt: first, activeReadAt: second }, null],
  [
    'that was disputed lies after the last read that listed it active',
    { endedEventAt: first, activeReadAt: second, endedReadAt: third },
    second,
  ],
  ['said by reads alone is not known', { startedEventAt: first, endedReadAt: third }, null],
  ['said by reads alone is when it was noted', { endedReadAt: third, endSeenAt: second }, second],
  [
    'that no source will report, because its links are gone, is when that was noted',
    { startedEventAt: first, isUnlinked: 1, endSeenAt: second },
    second,
  ],
])('the end of a contract %s', (_, registers, end) => {
  expect(endOfContract(contract(registers))).toBe(end);
});

it('is noted once if only readings say so, and the note is dropped if the contract goes on', () => {
  expect(needsNote(contract({ endedReadAt: first }))).toBe(true);
  expect(needsNote(contract({ endedReadAt: first, endSeenAt: first }))).toBe(false);
  expect(needsNote(contract({ endedReadAt: first, endedEventAt: first }))).toBe(false);
  expect(needsNote(contract({ activeReadAt: first }))).toBe(false);
  expect(isNoteStale(contract({ activeReadAt: first, endSeenAt: first }))).toBe(true);
  expect(isNoteStale(contract({ endedReadAt: first, endSeenAt: first }))).toBe(false);
});

it('is over for a person when all their contracts are, and never without a contract', () => {
  const [early, late] = [contract({ endedEventAt: first }), contract({ endedEventAt: second })];
  expect(isPersonOver([early, late], third)).toBe(true);
  expect(isPersonOver([early, late], second)).toBe(false);
  expect(isPersonOver([], third)).toBe(false);
});

function contract(registers: Partial<RetainedContract>): RetainedContract {
  return { ...emptyContract('acme', 'c1'), endSeenAt: null, isUnlinked: 0, ...registers };
}
