import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runsOutAt } from '../../src/domain/budget.ts';

const now = new Date('2026-03-15T12:00:00.000Z');

describe('when a budget runs out', () => {
  it.each([
    [
      'in a week, where the other half is left and half was used in the last one',
      0.5,
      3600,
      3600,
      '2026-03-22T12:00:00.000Z',
    ],
    ['in a day, where little is left', 0.875, 700, 700, '2026-03-16T12:00:00.000Z'],
    ['now, where nothing is left', 1, 3600, 0, '2026-03-15T12:00:00.000Z'],
    ['now, where more was used than there is', 1.2, 3600, 0, '2026-03-15T12:00:00.000Z'],
    ['never, where no work was done lately', 0.5, 3600, 0, null],
    ['never, where nothing was used yet', 0, 0, 0, null],
    ['never, where the marketplace has not counted what was reported', 0, 0, 3600, null],
    ['never, where less is left than was lowered', 0.5, 3600, -10, null],
    ['at no instant that there is', 1e-12, 1e12, 1e-9, null],
  ])('%s', (_, consumedFraction, consumed, lately, wanted) => {
    expect(runsOutAt({ consumedFraction, consumed, lately }, now)).toBe(wanted);
  });

  it('is unknown without a reading', () => {
    expect(runsOutAt({ consumedFraction: null, consumed: null, lately: 10 }, now)).toBeNull();
    expect(runsOutAt({ consumedFraction: 0.5, consumed: null, lately: 10 }, now)).toBeNull();
  });

  it('is sooner if more was done lately, and never in the past', () => {
    const fraction = fc.double({ min: 0.01, max: 1, noNaN: true });
    const amount = fc.double({ min: 1, max: 1e6, noNaN: true });
    fc.assert(
      fc.property(fraction, amount, amount, amount, (consumedFraction, consumed, little, more) => {
        const slowly = runsOutAt({ consumedFraction, consumed, lately: little }, now) ?? '~';
        const fast = runsOutAt({ consumedFraction, consumed, lately: little + more }, now) ?? '~';
        expect(fast <= slowly && fast >= now.toISOString()).toBe(true);
      }),
    );
  });
});
