import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { Tables } from '../db/tables.ts';

/**
 * The SQL of what readings of work keep of a person by the id that a tool has for them, which may be
 * an address. What was reported is kept by ids that name nobody, and stays.
 */

/** How many rows there are. */
export async function countWorkTraces(tx: Transaction, trainerId: string): Promise<number> {
  const items = await tx
    .selectFrom('usageItem')
    .where((eb) => isTheirs(eb, trainerId))
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .executeTakeFirstOrThrow();
  const days = await tx
    .selectFrom('usageDay')
    .where('trainerId', '=', trainerId)
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .executeTakeFirstOrThrow();
  const people = await tx
    .selectFrom('usagePerson')
    .where('trainerId', '=', trainerId)
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .executeTakeFirstOrThrow();
  return [items, days, people].reduce((sum, { n }) => sum + Number(n), 0);
}

/** Nothing that was reported is lowered by it: absence is never zero (design section 5). */
export async function clearWorkTraces(tx: Transaction, trainerId: string): Promise<void> {
  await tx
    .deleteFrom('usageItem')
    .where((eb) => isTheirs(eb, trainerId))
    .execute();
  await tx.deleteFrom('usageDay').where('trainerId', '=', trainerId).execute();
  await tx.deleteFrom('usagePerson').where('trainerId', '=', trainerId).execute();
}

function isTheirs(
  eb: ExpressionBuilder<Tables, 'usageItem'>,
  trainerId: string,
): Expression<SqlBool> {
  return eb.exists(
    eb
      .selectFrom('usagePerson')
      .select('usagePerson.trainerId')
      .whereRef('usagePerson.tool', '=', 'usageItem.tool')
      .whereRef('usagePerson.scope', '=', 'usageItem.scope')
      .whereRef('usagePerson.memberId', '=', 'usageItem.memberId')
      .where('usagePerson.trainerId', '=', trainerId),
  );
}
