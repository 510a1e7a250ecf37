/** The time of day, which tests control. */
export interface Clock {
  now(): Date;
}

/** A clock that remembers the latest time it has shown, which is in the future after the clock was set back. */
export interface WatchedClock extends Clock {
  /** @returns the latest time that it has shown since the last call */
  takeLatest(): Date;
}

export function watchClock(now: () => Date): WatchedClock {
  let latestMs = Number.NEGATIVE_INFINITY;
  return {
    now() {
      const shown = now();
      latestMs = Math.max(latestMs, shown.getTime());
      return shown;
    },
    takeLatest() {
      const nowMs = now().getTime();
      const latest = new Date(Math.max(latestMs, nowMs));
      latestMs = nowMs;
      return latest;
    },
  };
}

export const systemClock: Clock = { now: () => new Date() };

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** A stored instant: ISO-8601 UTC with milliseconds, which sorts like time. */
export function toInstant(date: Date): string {
  return date.toISOString();
}

/** The instant `ms` milliseconds from now by the clock; negative for the past. */
export function instantIn(clock: Clock, ms: number): string {
  return new Date(clock.now().getTime() + ms).toISOString();
}

/** The instant `ms` milliseconds after another; negative for before. */
export function instantAfter(instant: string, ms: number): string {
  return new Date(Date.parse(instant) + ms).toISOString();
}

/** What the work gives, unless the signal aborts before. @param toError what is thrown then */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal, toError: () => Error): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(toError());
  signal.addEventListener('abort', giveUp, { once: true });
  if (signal.aborted) giveUp();
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

/** The end of one call: its time-out or the caller's signal, whichever comes first. */
export interface Deadline {
  signal: AbortSignal;
  /** Whether the time is up. */
  hasPassed(): boolean;
  /** Call it after the call, or everything stays in memory until the time is up. */
  clear(): void;
}

export function createDeadline(timeoutMs: number, stopping?: AbortSignal): Deadline {
  const controller = new AbortController();
  let hasPassed = false;
  const stop = () => controller.abort(stopping?.reason);
  const timer = setTimeout(() => {
    hasPassed = true;
    controller.abort(new DOMException('The time is up', 'TimeoutError'));
  }, timeoutMs);
  timer.unref();
  if (stopping?.aborted) stop();
  stopping?.addEventListener('abort', stop, { once: true });
  return {
    signal: controller.signal,
    hasPassed: () => hasPassed,
    clear() {
      clearTimeout(timer);
      stopping?.removeEventListener('abort', stop);
    },
  };
}
