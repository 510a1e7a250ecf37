import type { DatabaseClock } from '../../src/db/database-clock.ts';
import { type Clock, watchClock } from '../../src/lib/clock.ts';

export interface FakeClock extends Clock {
  /** Back where that is negative. */
  advance(ms: number): void;
  /** Unix seconds, as a signature has them. */
  seconds(): number;
}

/** Time that stands still until the test moves it. */
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

/** The clock of a database of the same time: PostgreSQL's own goes on, whatever the test makes of it. */
export function toDatabaseClock({ now }: Clock): DatabaseClock {
  return { ...watchClock(now), correct: async () => undefined };
}
