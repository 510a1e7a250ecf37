import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { backoffMs, retry } from '../../src/lib/retry.ts';

const quick = { attempts: 4, firstWaitMs: 1, maxWaitMs: 2 };
const busy = new AppError('unavailable', 'busy');

/** Fails with each of these in turn, then succeeds. */
function failing(...failures: unknown[]) {
  const attempt = async () => {
    attempt.count += 1;
    if (failures.length === 0) return 'done';
    throw failures.shift();
  };
  attempt.count = 0;
  return attempt;
}

describe('retrying', () => {
  it('goes on until it succeeds', async () => {
    const attempt = failing(busy, new AppError('rate_limited', 'slowly'), busy);
    expect(await retry(attempt, quick)).toBe('done');
    expect(attempt.count).toBe(4);
  });

  it('ends with the last failure when the attempts are used up', async () => {
    const last = new AppError('unavailable', 'still busy');
    const attempt = failing(busy, busy, busy, last, busy);
    await expect(retry(attempt, quick)).rejects.toBe(last);
    expect(attempt.count).toBe(4);
  });

  it.each([
    ['a refusal', new AppError('conflict', 'no')],
    ['a fault', new AppError('internal', 'broken')],
    ['what was not foreseen', new Error('oh')],
    ['a TypeError', new TypeError('undefined is not a function')],
    ['a text', 'oh'],
  ])('ends at once with %s', async (_, failure) => {
    const attempt = failing(failure);
    await expect(retry(attempt, quick)).rejects.toBeInstanceOf(AppError);
    expect(attempt.count).toBe(1);
  });

  it('retries only what isWorthRetrying accepts', async () => {
    const attempt = failing(new AppError('conflict', 'no'), busy);
    const isWorthRetrying = ({ code }: AppError) => code === 'conflict';
    await expect(retry(attempt, { ...quick, isWorthRetrying })).rejects.toBe(busy);
    expect(attempt.count).toBe(2);
  });

  it('ends during a wait when it is stopped', async () => {
    const stopping = new AbortController();
    const attempt = failing(busy);
    const begunAt = performance.now();
    const retrying = retry(attempt, {
      attempts: 2,
      firstWaitMs: 60_000,
      maxWaitMs: 60_000,
      signal: stopping.signal,
    });
    setTimeout(() => stopping.abort(new Error('stopping')), 5);
    await expect(retrying).rejects.toThrow('stopping');
    expect(performance.now() - begunAt).toBeLessThan(30_000);
    expect(attempt.count).toBe(1);
  });

  it('does not begin when it was stopped before', async () => {
    const attempt = failing();
    const signal = AbortSignal.abort(new Error('stopping'));
    await expect(retry(attempt, { ...quick, signal })).rejects.toThrow('stopping');
    expect(attempt.count).toBe(0);
  });
});

describe('backing off', () => {
  it('doubles the longest wait with every attempt, up to an hour', () => {
    const longest = [1, 2, 3, 11, 12, 1000].map((attempts) => backoffMs(attempts, 0, () => 1));
    expect(longest).toEqual([2000, 4000, 8000, 2_048_000, 3_600_000, 3_600_000]);
  });

  it('waits a random time up to that, and never less than requested', () => {
    expect(backoffMs(3, 0, () => 0)).toBe(0);
    expect(backoffMs(3, 0, () => 0.5)).toBe(4000);
    expect(backoffMs(3, 7000, () => 0.5)).toBe(7000);
    expect(backoffMs(3, 10_000_000, () => 0.5)).toBe(10_000_000);
  });
});
