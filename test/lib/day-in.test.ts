import { describe, expect, it } from 'vitest';
import { dayIn } from '../../src/lib/days.ts';

describe('the day in a time zone', () => {
  it.each([
    ['2026-03-15T10:59:59.999Z', 'Pacific/Auckland', '2026-03-15'],
    ['2026-03-15T11:00:00.000Z', 'Pacific/Auckland', '2026-03-16'],
    ['2026-03-15T03:59:59.999Z', 'America/New_York', '2026-03-14'],
    ['2026-03-15T04:00:00.000Z', 'America/New_York', '2026-03-15'],
    ['2026-12-31T23:59:59.999Z', 'UTC', '2026-12-31'],
    // The clocks go forward at 01:00 UTC, and back again: both days begin at their own midnight.
    ['2026-03-28T23:00:00.000Z', 'Europe/Berlin', '2026-03-29'],
    ['2026-03-29T21:59:59.999Z', 'Europe/Berlin', '2026-03-29'],
    ['2026-03-29T22:00:00.000Z', 'Europe/Berlin', '2026-03-30'],
    ['2026-10-25T22:59:59.999Z', 'Europe/Berlin', '2026-10-25'],
    ['2026-10-25T23:00:00.000Z', 'Europe/Berlin', '2026-10-26'],
    // A day that was left out.
    ['2011-12-30T09:59:59.999Z', 'Pacific/Apia', '2011-12-29'],
    ['2011-12-30T10:00:00.000Z', 'Pacific/Apia', '2011-12-31'],
    ['2026-03-15T00:00:00.000Z', 'Asia/Kathmandu', '2026-03-15'],
    ['2026-03-14T18:15:00.000Z', 'Asia/Kathmandu', '2026-03-15'],
  ])('at %s in %s is %s', (instant, timeZone, day) => {
    expect(dayIn(new Date(instant), timeZone)).toBe(day);
  });

  it('fails without a valid time zone and instant', () => {
    expect(() => dayIn(new Date(), 'Atlantis/Capital')).toThrow(RangeError);
    expect(() => dayIn(new Date(Number.NaN), 'UTC')).toThrow(RangeError);
  });
});
