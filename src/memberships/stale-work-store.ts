import { type OnConflictBuilder, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import { inParts } from '../db/query.ts';
import type { Tables } from '../db/schema.ts';
import type { Day } from '../domain/usage.ts';

/** A trainer whose due work has to be worked out again. */
export interface StaleWork {
  trainerId: string;
  /** The first day that may have changed; empty for all. */
  fromDay: Day;
  /** Whether days that were sent for the last time are sent once more where they change. */
  reopens?: boolean;
}

/**
 * Marks trainers in the transaction that changes their work, contracts or decisions. Nothing is sent for them until
 * their due work was worked out again.
 *
 * @param stale each trainer once
 */
export async function markWorkStale(tx: Transaction, stale: readonly StaleWork[]): Promise<void> {
  // Sorted, so that two transactions do not wait for each other in turn.
  const rows = stale
    .map(({ trainerId, fromDay, reopens = false }) => ({ trainerId, fromDay, reopens }))
    .sort((a, b) => (a.trainerId < b.trainerId ? -1 : 1));
  for (const part of inParts(rows)) {
    await tx.insertInto('usageStale').values(part).onConflict(keepEarliest).execute();
  }
}

/** A trainer who is marked already stays marked from the earlier of both days. */
function keepEarliest(conflict: OnConflictBuilder<Tables, 'usageStale'>) {
  return conflict.column('trainerId').doUpdateSet({
    fromDay: sql`case when excluded.from_day < usage_stale.from_day then excluded.from_day else usage_stale.from_day end`,
    reopens: sql`case when excluded.reopens > usage_stale.reopens then excluded.reopens else usage_stale.reopens end`,
  });
}
