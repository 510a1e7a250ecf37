import { AppError } from '../domain/errors.ts';
import { unlessAborted } from './clock.ts';

interface Running<T> {
  /** By `performance.now`; infinite until it begins. */
  begunAtMs: number;
  result: Promise<T>;
  waiting: number;
  giveUp: AbortController;
}

/**
 * One reading for many callers that ask at about the same time.
 *
 * @param read is aborted when no caller waits for it any more
 */
export function shareReading<T>(read: (signal: AbortSignal) => Promise<T>) {
  let last: { begunAtMs: number; value: T } | undefined;
  let current: Running<T> | undefined;
  let next: Running<T> | undefined;

  async function run(running: Running<T>): Promise<T> {
    running.giveUp.signal.throwIfAborted();
    current = running;
    running.begunAtMs = performance.now();
    try {
      const value = await read(running.giveUp.signal);
      last = { begunAtMs: running.begunAtMs, value };
      return value;
    } finally {
      current = undefined;
    }
  }

  function queue(begin: (running: Running<T>) => Promise<T>): Running<T> {
    const { promise: result, resolve, reject } = Promise.withResolvers<T>();
    // There may be no caller left to catch the error.
    result.catch(() => undefined);
    const giveUp = new AbortController();
    const running = { begunAtMs: Number.POSITIVE_INFINITY, result, waiting: 0, giveUp };
    begin(running).then(resolve, reject);
    return running;
  }

  function begin(): Running<T> {
    if (current === undefined) return queue(run);
    const { result: before } = current;
    if (next === undefined || isGivenUp(next)) {
      next = queue(async (running) => {
        await before.catch(() => undefined);
        if (next === running) next = undefined;
        return await run(running);
      });
    }
    return next;
  }

  return {
    /**
     * Returns a reading that began at most `maxAgeMs` ago, or is about to begin; otherwise reads again. At most one reading
     * is under way.
     *
     * @param maxAgeMs 0 for the present state, which only a reading shows that begins after the call
     */
    async read(maxAgeMs: number, signal: AbortSignal): Promise<T> {
      if (signal.aborted) throw toLeft(signal);
      const notBeforeMs = performance.now() - maxAgeMs;
      if (last !== undefined && last.begunAtMs >= notBeforeMs) return last.value;
      const running = current ?? begin();
      const isNewEnough = running.begunAtMs >= notBeforeMs && !isGivenUp(running);
      return await join(isNewEnough ? running : begin(), signal);
    },
  };
}

function isGivenUp({ giveUp }: Running<unknown>): boolean {
  return giveUp.signal.aborted;
}

function toLeft({ reason }: AbortSignal): AppError {
  return new AppError('unavailable', 'The caller stopped waiting before it was read', { cause: reason });
}

async function join<T>(running: Running<T>, signal: AbortSignal): Promise<T> {
  running.waiting += 1;
  try {
    return await unlessAborted(running.result, signal, () => toLeft(signal));
  } finally {
    running.waiting -= 1;
    if (running.waiting === 0) running.giveUp.abort();
  }
}
