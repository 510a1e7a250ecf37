import type { DatabaseClock } from '../../src/db/database-clock.ts';
import { type Clock, watchClock } from '../../src/lib/clock.ts';

export interface FakeClock extends Clock {
  /** Back where that is negative. */
  advance(ms: number): void;
  /** Unix seconds, as a signature has them. */
  seconds(): number;
}

/** A clock that only the test moves. */
export function createFakeClock(start = '2026-03-15T12:00:00.000Z'): FakeClock {
  let now = Date.parse(start);
  return {
    now: () => new Date(now),
    advance(ms) {
      now += ms;
    },
    seconds: () => Math.floor(now / 1000),
  };
}

/** The clock of a database at the test's time, because PostgreSQL's own cannot be stopped. */
export function toDatabaseClock({ now }: Clock): DatabaseClock {
  return { ...watchClock(now), correct: async () => undefined };
}
