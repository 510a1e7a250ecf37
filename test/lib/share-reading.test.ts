import { beforeEach, describe, expect, it, vi } from 'vitest';
import { shareReading } from '../../src/lib/share-reading.ts';

const { signal } = new AbortController();

describe('a reading that is shared', () => {
  let readings: (PromiseWithResolvers<string> & { signal: AbortSignal })[];
  let shared: ReturnType<typeof shareReading<string>>;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] });
    readings = [];
    shared = shareReading((of) => {
      const reading = { ...Promise.withResolvers<string>(), signal: of };
      of.addEventListener('abort', () => reading.reject(of.reason));
      readings.push(reading);
      return reading.promise;
    });
    return () => vi.useRealTimers();
  });

  /** Whatever follows from what has been answered has followed. */
  const settled = () => new Promise((resolve) => setImmediate(resolve));

  it('serves everybody who asks before it begins, with one reading at a time', async () => {
    const first = shared.read(0, signal);
    vi.advanceTimersByTime(1);
    const later = [1, 2, 3, 4].map(() => shared.read(0, signal));
    expect(readings).toHaveLength(1);
    readings[0]?.resolve('early');
    expect(await first).toBe('early');
    await settled();
    expect(readings).toHaveLength(2);
    // It began before this one asked.
    vi.advanceTimersByTime(1);
    const latest = shared.read(0, signal);
    readings[1]?.resolve('late');
    expect(await Promise.all(later)).toEqual(Array(4).fill('late'));
    await settled();
    readings[2]?.resolve('latest');
    expect(await latest).toBe('latest');
  });

  it('serves callers who accept an older one, by when it began', async () => {
    const first = shared.read(0, signal);
    vi.advanceTimersByTime(400);
    const joined = shared.read(400, signal);
    readings[0]?.resolve('early');
    expect(await Promise.all([first, joined])).toEqual(['early', 'early']);
    vi.advanceTimersByTime(600);
    expect(await shared.read(1000, signal)).toBe('early');
    const newer = shared.read(999, signal);
    expect(readings).toHaveLength(2);
    readings[1]?.resolve('late');
    expect(await newer).toBe('late');
  });

  it('fails for all callers that wait for it, and for none that asks later', async () => {
    const both = [shared.read(0, signal), shared.read(0, signal)];
    vi.advanceTimersByTime(1);
    const later = shared.read(0, signal);
    readings[0]?.reject(new Error('cut off'));
    for (const one of both) await expect(one).rejects.toThrow('cut off');
    await settled();
    readings[1]?.resolve('late');
    expect(await later).toBe('late');
  });

  it('goes on when one caller leaves, and is given up when no caller waits', async () => {
    const [one, two] = [new AbortController(), new AbortController()];
    const waiting = [shared.read(0, one.signal), shared.read(0, two.signal)];
    one.abort();
    await expect(waiting[0]).rejects.toMatchObject({ code: 'unavailable' });
    expect(readings[0]?.signal.aborted).toBe(false);
    two.abort();
    await expect(waiting[1]).rejects.toMatchObject({ code: 'unavailable' });
    expect(readings[0]?.signal.aborted).toBe(true);
    await settled();
    const after = shared.read(0, signal);
    readings[1]?.resolve('late');
    expect(await after).toBe('late');
  });

  it('does not begin for a caller who has left', async () => {
    const first = shared.read(0, signal);
    vi.advanceTimersByTime(1);
    const one = new AbortController();
    const later = shared.read(0, one.signal);
    one.abort();
    await expect(later).rejects.toMatchObject({ code: 'unavailable' });
    const after = shared.read(0, signal);
    readings[0]?.resolve('early');
    expect(await first).toBe('early');
    await settled();
    expect(readings).toHaveLength(2);
    readings[1]?.resolve('late');
    expect(await after).toBe('late');
  });
});
