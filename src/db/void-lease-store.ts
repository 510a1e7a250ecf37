import { sql } from 'kysely';
import type { Transaction } from './database.ts';

/** The SQL that ends the leases of dead processes. */

const leases = {
  budget_reader: 'leased_until',
  feed: 'leased_until',
  guideline_reading: 'leased_until',
  install_state: 'leased_until',
  membership: 'leased_until',
  named_lock: 'leased_until',
  payment_reader: 'leased_until',
  read_request: 'leased_until',
  subscription: 'leased_until',
  usage_scope: 'leased_until',
} as const;

export async function hasLeases(db: Transaction, now: string): Promise<boolean> {
  for (const [table, column] of Object.entries(leases)) {
    const { rows } = await sql`select 1 from ${sql.table(table)}
      where ${sql.ref(column)} > ${now} limit 1`.execute(db);
    if (rows.length > 0) return true;
  }
  return false;
}

/**
 * Ends all leases except those under which a call to a tool may be under way. Such a call outlives its
 * process, and no look may be made before the call can no longer arrive.
 */
export async function voidLeases(tx: Transaction, now: string): Promise<void> {
  for (const [table, column] of Object.entries(leases)) {
    const isCalling = table === 'membership' ? mayBeCalling : sql`false`;
    await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${now}
      where ${sql.ref(column)} > ${now} and not (${isCalling})`.execute(tx);
  }
}

/** The last intent has no receipt. */
const mayBeCalling = sql`exists (
  select 1 from intent where intent.membership_id = membership.id
    and intent.created_at >= coalesce((select max(receipt.created_at) from receipt
      where receipt.membership_id = membership.id), ''))`;
