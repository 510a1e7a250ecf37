import { describe, expect, it } from 'vitest';
import { decideLookRest } from '../../src/operations/reconcile-now.ts';

describe('a command that syncs the tools rests after it has counted what is left', () => {
  it.each([
    [0, 100],
    [20, 1000],
    [400, 10_000],
  ])('fifty times as long as the count of %i ms, but for 0.1 s at least and 10 s at most', (tookMs, restMs) => {
    expect(decideLookRest(tookMs, 60_000)).toBe(restMs);
  });

  it('no longer than it is to wait', () => {
    expect(decideLookRest(400, 2100)).toBe(2100);
  });
});
