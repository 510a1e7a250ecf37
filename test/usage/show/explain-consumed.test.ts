import { expect, it } from 'vitest';
import type { Counts } from '../../../src/domain/usage.ts';
import { explainConsumed } from '../../../src/usage/show/explain-consumed.ts';

const toCounts = (seconds: number, tasks = 0): Counts => ({ seconds, tasks, labels: null });
const noCounts = { seconds: null, tasks: null, labels: null };

/** A day of which `tried` was sent, and `answered` is what was heard before. */
function day(sentAt: string, tried: Counts, answered: Counts = noCounts) {
  return { state: 'in_doubt' as const, sentAt, tried, answered };
}

const heard = { ...day('09:00', toCounts(50), toCounts(50)), state: 'answered' as const };
const days = [
  heard,
  day('10:00', toCounts(10, 1)),
  day('10:00', toCounts(20, 1)),
  day('11:00', toCounts(70, 2), toCounts(100, 2)),
];
const reported = toCounts(150, 2);

it.each([
  ['equal', toCounts(150, 2), []],
  ['explained', toCounts(180, 4), ['10:00']],
  ['explained', toCounts(120, 2), ['11:00']],
  // Both together: thirty more and thirty less.
  ['explained', toCounts(150, 4), ['10:00', '11:00']],
  // One request arrives whole or not at all.
  ['more', toCounts(160, 3), []],
  ['less', toCounts(149, 2), []],
  ['more', { ...toCounts(150, 2), labels: 5 }, []],
] as const)('finds %s where %o was consumed', (verdict, consumed, arrived) => {
  expect(explainConsumed(days, reported, consumed)).toMatchObject({ verdict, arrived });
});

it('does not compare a count that the marketplace does not say', () => {
  expect(explainConsumed([], reported, { ...noCounts, seconds: 150 }).verdict).toBe('equal');
});
