import { sql } from 'kysely';
import { type Clock, type WatchedClock, watchClock } from '../lib/clock.ts';
import type { Database } from './database.ts';

/**
 * The time that all is stamped with and that leases are measured by: the database's, so that
 * instances on several machines agree about it however their own clocks differ. It is this machine's
 * clock, corrected every few seconds.
 */
export interface DatabaseClock extends WatchedClock {
  /** Asks the database; to be done once before anything is leased. */
  correct(): Promise<void>;
}

/** @param local what stands in for the database's clock where it runs on this machine: SQLite */
export function createDatabaseClock(database: Database, local: Clock): DatabaseClock {
  let aheadMs = 0;
  return {
    ...watchClock(() => new Date(local.now().getTime() + aheadMs)),
    async correct() {
      aheadMs = await measureAheadMs(database, local);
    },
  };
}

/** How far the database's clock is ahead of this machine's, in milliseconds. */
export async function measureAheadMs({ dialect, kysely }: Database, local: Clock): Promise<number> {
  if (dialect === 'sqlite') return 0;
  const askedAt = local.now().getTime();
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(kysely);
  const answeredAt = local.now().getTime();
  const [{ now } = { now: local.now() }] = rows;
  return Math.round(now.getTime() - (askedAt + answeredAt) / 2);
}
