import { sql } from 'kysely';
import type { Transaction } from './database.ts';
import { tables } from './schema.ts';

/** The SQL that ends the leases of dead processes. */

const leased = Object.keys(tables).filter((table) => tables[table]?.columns['leasedUntil'] !== undefined);

export async function hasLeases(db: Transaction, now: string): Promise<boolean> {
  for (const table of leased) {
    const { rows } = await sql`select 1 from ${sql.table(table)} where leased_until > ${now} limit 1`.execute(db);
    if (rows.length > 0) return true;
  }
  return false;
}

/**
 * Ends all leases. One under which a call to a tool may be under way ends when the call can no longer arrive: such a
 * call outlives its process, and no look may be made before.
 *
 * @param localTools whose calls end with their process
 */
export async function voidLeases(tx: Transaction, now: string, localTools: readonly string[] = []): Promise<void> {
  if (localTools.length > 0) {
    await sql`update membership set leased_until = ${now},
      late_until = case when late_until > ${now} then ${now} else late_until end
      where leased_until > ${now} and tool in (${sql.join(localTools)})`.execute(tx);
  }
  for (const table of leased) {
    const endsAt = table === 'membership' ? arrivedBy(now) : now;
    await sql`update ${sql.table(table)} set leased_until = ${endsAt} where leased_until > ${now}`.execute(tx);
  }
}

/** A call without a known result can arrive until `late_until`. A new lease may be longer than that. */
function arrivedBy(now: string) {
  return sql`case when late_until >= leased_until then leased_until
    when late_until > ${now} then late_until else ${now} end`;
}
