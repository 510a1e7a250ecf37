import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Transaction } from '../../db/database.ts';
import { markWorkStale } from '../../memberships/derivation-store.ts';

/**
 * The SQL of what readings of work store by a tool's id of a person, which may be an address. The ledger is kept: its
 * ids name no person. Work that is read through a membership in `kept` stays too.
 */

/** Items belong to a person, so they are cleared before the people. */
const tables = ['usage_item', 'usage_day', 'usage_person'] as const;

/** It lowers nothing that was reported: absence is never zero (docs/rules.md, Usage). @returns how many rows it deleted */
export async function clearWorkTraces(tx: Transaction, trainerId: string, kept: readonly number[]): Promise<number> {
  let deleted = 0;
  for (const table of tables) {
    const query = sql`delete from ${sql.table(table)} as t where ${isOf(table, trainerId, kept)}`;
    deleted += Number((await query.execute(tx)).numAffectedRows ?? 0n);
  }
  await markWorkStale(tx, [{ trainerId, fromDay: '' }]);
  return deleted;
}

/** Whether a row is the trainer's, and no kept membership has them work in its scope. */
function isOf(table: (typeof tables)[number], trainerId: string, kept: readonly number[]): RawBuilder<SqlBool> {
  const isTheirs =
    table === 'usage_item'
      ? sql`exists (select 1 from usage_person p where p.tool = t.tool and p.scope = t.scope
          and p.member_id = t.member_id and p.trainer_id = ${trainerId})`
      : sql`t.trainer_id = ${trainerId}`;
  if (kept.length === 0) return sql`${isTheirs}`;
  return sql`${isTheirs} and not exists (
    select 1 from usage_scope_group worked
    join membership on membership.tool = worked.tool and membership.group_id = worked.group_id
    where membership.id in (${sql.join(kept)}) and worked.tool = t.tool and worked.scope = t.scope)`;
}
