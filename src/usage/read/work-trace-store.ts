import { type Expression, type ExpressionBuilder, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Transaction } from '../../db/database.ts';
import type { Tables } from '../../db/schema.ts';
import { markWorkStale } from '../../memberships/stale-work-store.ts';

/**
 * The SQL of what readings of work store by a tool's id of a person, which may be an address. The ledger is kept: its
 * ids name no person. Work that is read through a membership in `kept` stays too.
 */

/** It lowers nothing that was reported: absence is never zero (docs/design.md, Usage). @returns how many rows it deleted */
export async function clearWorkTraces(tx: Transaction, trainerId: string, kept: readonly number[]): Promise<number> {
  const items = await tx
    .deleteFrom('usageItem')
    .where((eb) => isTheirItem(eb, trainerId, kept))
    .executeTakeFirst();
  const days = await tx
    .deleteFrom('usageDay')
    .where('trainerId', '=', trainerId)
    .where(isForgotten('usageDay', kept))
    .executeTakeFirst();
  const people = await tx
    .deleteFrom('usagePerson')
    .where('trainerId', '=', trainerId)
    .where(isForgotten('usagePerson', kept))
    .executeTakeFirst();
  await markWorkStale(tx, [{ trainerId, fromDay: '' }]);
  return [items, days, people].reduce((sum, { numDeletedRows }) => sum + Number(numDeletedRows), 0);
}

function isTheirItem(
  eb: ExpressionBuilder<Tables, 'usageItem'>,
  trainerId: string,
  kept: readonly number[],
): Expression<SqlBool> {
  return eb.exists(
    eb
      .selectFrom('usagePerson')
      .select('usagePerson.trainerId')
      .whereRef('usagePerson.tool', '=', 'usageItem.tool')
      .whereRef('usagePerson.scope', '=', 'usageItem.scope')
      .whereRef('usagePerson.memberId', '=', 'usageItem.memberId')
      .where('usagePerson.trainerId', '=', trainerId)
      .where(isForgotten('usagePerson', kept)),
  );
}

/** Whether no kept membership has the trainer work in the scope. */
function isForgotten(table: 'usageDay' | 'usagePerson', kept: readonly number[]): RawBuilder<SqlBool> {
  if (kept.length === 0) return sql`1 = 1`;
  return sql`not exists (
    select 1 from usage_scope_group as worked
    join membership on membership.tool = worked.tool and membership.group_id = worked.group_id
    where membership.id in (${sql.join(kept)})
      and worked.tool = ${sql.ref(`${table}.tool`)} and worked.scope = ${sql.ref(`${table}.scope`)})`;
}
