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
  ['is unknown without evidence', {}, null],
  ['is null while it is active', { startedEventAt: first }, null],
  ['is that of its event', { startedEventAt: first, endedEventAt: second }, second],
  ['is that of its event, whatever is read later', { endedEventAt: first, endedReadAt: third }, first],
  ['is null while it is disputed', { endedEventAt: first, activeReadAt: second }, null],
  [
    'is the last reading that listed it as active, if the event was disputed',
    { endedEventAt: first, activeReadAt: second, endedReadAt: third },
    second,
  ],
  ['is unknown if only readings say so', { startedEventAt: first, endedReadAt: third }, null],
  ['is when it was noted, if only readings say so', { endedReadAt: third, endSeenAt: second }, second],
  [
    'is when it was noted, if all its links were removed',
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
