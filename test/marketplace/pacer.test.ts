import { describe, expect, it } from 'vitest';
import { createPacer, type Pacer } from '../../src/marketplace/pacer.ts';

const { signal } = new AbortController();

/** When each of `count` simultaneous requests is admitted, in milliseconds from now. */
async function admitAll(pacer: Pacer, count: number): Promise<number[]> {
  const beganAt = performance.now();
  const admitted: number[] = [];
  const all = Array.from({ length: count }, async () => {
    await pacer.admit(signal);
    admitted.push(performance.now() - beganAt);
  });
  await Promise.all(all);
  return admitted;
}

describe('a pacer', () => {
  it('admits a burst at once, and the others one after the other', async () => {
    const pacer = createPacer({ requestsPerSecond: 10, burst: 3 });
    const admitted = await admitAll(pacer, 5);
    // A timer may be a millisecond early.
    expect(admitted[3]).toBeGreaterThanOrEqual(98);
    expect(admitted[4]).toBeGreaterThanOrEqual(198);
    // At this pace, a request that has to wait would wait for hours.
    const slow = createPacer({ requestsPerSecond: 0.0001, burst: 3 });
    expect(await admitAll(slow, 3)).toHaveLength(3);
  });

  it('allows another burst only after an idle time', async () => {
    const pacer = createPacer({ requestsPerSecond: 20, burst: 3 });
    const beganAt = performance.now();
    await admitAll(pacer, 3);
    await new Promise((resolve) => setTimeout(resolve, 60));
    await admitAll(pacer, 3);
    expect(performance.now() - beganAt).toBeGreaterThanOrEqual(148);
  });

  it('admits no request in a pause, and spreads them after it', async () => {
    const pacer = createPacer({ requestsPerSecond: 20, burst: 2 });
    await admitAll(pacer, 2);
    const waiting = admitAll(pacer, 4);
    pacer.pause(300);
    pacer.pause(10);
    const admitted = await waiting;
    expect(admitted[0]).toBeGreaterThanOrEqual(298);
    expect(admitted[3]).toBeGreaterThanOrEqual(398);
  });

  it('refuses to wait for a long pause', async () => {
    const pacer = createPacer({ requestsPerSecond: 20, burst: 2 });
    pacer.pause(60_000);
    const refusal = (await pacer.admit(signal).catch((error: unknown) => error)) as object;
    expect(refusal).toMatchObject({
      code: 'rate_limited',
      message: 'Could not ask the marketplace: it accepts no requests for another 60 s',
    });
    const { retryAfterMs } = refusal as { retryAfterMs: number };
    expect(retryAfterMs).toBeGreaterThan(59_000);
    expect(retryAfterMs).toBeLessThanOrEqual(60_000);
  });

  it('ends the wait of a request that is stopped', async () => {
    const pacer = createPacer({ requestsPerSecond: 0.1, burst: 1 });
    await pacer.admit(signal);
    const stopping = new AbortController();
    const waiting = pacer.admit(stopping.signal);
    stopping.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'unavailable' });
    await expect(pacer.admit(stopping.signal)).rejects.toMatchObject({ code: 'unavailable' });
  });
});
