import { sql } from 'kysely';
import { type Clock, type WatchedClock, watchClock } from '../lib/clock.ts';
import type { Database } from './database.ts';

/**
 * The clock of all stored times and of leases: this machine's clock, corrected every few seconds to that of the database,
 * so that instances on several machines agree.
 */
export interface DatabaseClock extends WatchedClock {
  /** Corrects it by the time of the database. Call it before anything is leased. */
  correct(): Promise<void>;
}

/** @param local the clock to use for SQLite, which runs on this machine */
export function createDatabaseClock(database: Database, local: Clock): DatabaseClock {
  let aheadMs = 0;
  return {
    ...watchClock(() => new Date(local.now().getTime() + aheadMs)),
    async correct() {
      aheadMs = await measureAheadMs(database, local);
    },
  };
}

/** How many milliseconds the clock of the database is ahead of this machine's. */
export async function measureAheadMs({ dialect, kysely }: Database, local: Clock): Promise<number> {
  if (dialect === 'sqlite') return 0;
  const askedAt = local.now().getTime();
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(kysely);
  const answeredAt = local.now().getTime();
  const [{ now } = { now: local.now() }] = rows;
  return Math.round(now.getTime() - (askedAt + answeredAt) / 2);
}
