import { expect, it } from 'vitest';
import { instantIn, systemClock, toInstant } from '../../src/lib/clock.ts';
import { createFakeClock } from '../support/fake-clock.ts';

it('writes instants that sort like time', () => {
  const clock = createFakeClock('2026-12-31T23:59:59.999Z');
  const instants = [-86_400_000, -1, 0, 1, 60_000].map((ms) => instantIn(clock, ms));
  expect(instants).toEqual([
    '2026-12-30T23:59:59.999Z',
    '2026-12-31T23:59:59.998Z',
    '2026-12-31T23:59:59.999Z',
    '2027-01-01T00:00:00.000Z',
    '2027-01-01T00:00:59.999Z',
  ]);
  expect(instants.toSorted()).toEqual(instants);
});

it('tells the time of day', () => {
  const before = Date.now();
  const now = Date.parse(toInstant(systemClock.now()));
  expect(now).toBeGreaterThanOrEqual(before);
  expect(now).toBeLessThanOrEqual(Date.now());
});
