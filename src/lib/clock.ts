/** The time of day, injected so that tests own it. Instants are ISO-8601 UTC with milliseconds. */
export interface Clock {
  now(): Date;
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
