/** The time of day, injected so that tests own it. Instants are ISO-8601 UTC with milliseconds. */
export interface Clock {
  now(): Date;
}

/** Remembers how far it has come: where it is set back, what it has stamped lies in the future. */
export interface WatchedClock extends Clock {
  /** @returns the latest time that it has told since this was asked last */
  takeLatest(): Date;
}

export function watchClock(now: () => Date): WatchedClock {
  let latestMs = Number.NEGATIVE_INFINITY;
  return {
    now() {
      const told = now();
      latestMs = Math.max(latestMs, told.getTime());
      return told;
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

/** An instant as it stands in the database: text that sorts like time. */
export function toInstant(date: Date): string {
  return date.toISOString();
}

/** The instant `ms` milliseconds after `clock`'s now; negative means before. */
export function instantIn(clock: Clock, ms: number): string {
  return new Date(clock.now().getTime() + ms).toISOString();
}
