import { sql } from 'kysely';
import type { Database } from '../../src/db/database.ts';
import { until } from './until.ts';

/** Waits until so many connections to a PostgreSQL database wait for locks. */
export async function untilWaitForLocks({ kysely }: Database, least: number): Promise<void> {
  const waiting = sql<{ count: string }>`select count(*) as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  const count = async () => Number((await waiting.execute(kysely)).rows[0]?.count ?? 0);
  await until(`${least} wait for locks`, count, (waiters) => waiters >= least);
}
