/** The time of day, injected so that tests control it. Instants are ISO-8601 UTC with milliseconds. */
export interface Clock {
  now(): Date;
}

/** Keeps the latest time that it has shown, because after it is set back those times are in the future. */
export interface WatchedClock extends Clock {
  /** @returns the latest time that it has shown since the last call of this */
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

/** An instant as in the database: text that sorts like time. */
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

/** The end of one call: its time-out or the caller's signal, whichever comes first. */
export interface Deadline {
  signal: AbortSignal;
  /** Whether it ended by the time-out. */
  hasPassed(): boolean;
  /** Call it when the call has ended; otherwise everything stays in memory until the time-out. */
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
