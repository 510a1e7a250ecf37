import { describe, expect, it } from 'vitest';
import { createRateLimit } from '../../../src/http/receiver/limits.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

function openLimit(changes: { deliveriesPerMinute?: number; bytesPerMinute?: number }) {
  const clock = createFakeClock();
  const rates = { deliveriesPerMinute: 1e6, bytesPerMinute: 1e9, ...changes };
  return { clock, ...createRateLimit(rates, clock) };
}

describe('the rate of an install', () => {
  it("allows a minute's deliveries at once, and then one at a time", () => {
    const { clock, take } = openLimit({ deliveriesPerMinute: 60 });
    for (let taken = 0; taken < 60; taken += 1) expect(take('acme', 1)).toBe(0);
    expect(take('acme', 1)).toBeCloseTo(1000);
    clock.advance(500);
    expect(take('acme', 1)).toBeCloseTo(500);
    clock.advance(500);
    expect(take('acme', 1)).toBe(0);
    expect(take('acme', 1)).toBeCloseTo(1000);
  });

  it('limits bytes too, and counts nothing that it refuses', () => {
    const { clock, take } = openLimit({ bytesPerMinute: 600 });
    expect(take('acme', 500)).toBe(0);
    expect(take('acme', 200)).toBeCloseTo(10_000);
    expect(take('acme', 100)).toBe(0);
    clock.advance(20_000);
    expect(take('acme', 200)).toBe(0);
  });

  it("saves up no more than one minute's limit", () => {
    const { clock, take } = openLimit({ deliveriesPerMinute: 2 });
    expect(take('acme', 1)).toBe(0);
    clock.advance(3_600_000);
    expect([1, 2, 3].map(() => take('acme', 1) === 0)).toEqual([true, true, false]);
  });

  it('is separate for each install', () => {
    const { take } = openLimit({ deliveriesPerMinute: 1 });
    expect(take('acme', 1)).toBe(0);
    expect(take('acme', 1)).toBeGreaterThan(0);
    expect(take('globex', 1)).toBe(0);
  });

  it('does not change when the clock is set back', () => {
    const { clock, take } = openLimit({ deliveriesPerMinute: 2 });
    take('acme', 1);
    clock.advance(-3_600_000);
    expect([1, 2].map(() => take('acme', 1) === 0)).toEqual([true, false]);
    clock.advance(30_000);
    expect(take('acme', 1)).toBe(0);
  });
});
