import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { DeliveryRow, Tables } from '../db/tables.ts';

/** The SQL of the deliveries whose time has come. */

export type DueDelivery = Pick<
  DeliveryRow,
  'id' | 'install' | 'bodySha256' | 'receivedAt' | 'attempts' | 'body'
>;

export function selectDue(db: Transaction, now: string) {
  return db
    .selectFrom('delivery')
    .select(['id', 'install', 'bodySha256', 'receivedAt', 'attempts', 'body'])
    .where(isDue(now));
}

/** The installs that have any. */
export async function installsDue(db: Transaction, now: string): Promise<string[]> {
  // Leaps from install to install in the index, however many deliveries each has due.
  const { rows } = await sql<{ install: string }>`
    with recursive turn (install) as (
      select min(install) from delivery where next_attempt_at is not null
      union all
      select (select min(install) from delivery
        where next_attempt_at is not null and install > turn.install)
        from turn where turn.install is not null
    )
    select install from turn where install is not null`.execute(db);
  const due = [];
  for (const { install } of rows) {
    const any = db.selectFrom('delivery').select('id').where('install', '=', install);
    const one = await any.where(isDue(now)).limit(1).executeTakeFirst();
    if (one !== undefined) due.push(install);
  }
  return due;
}

function isDue(now: string) {
  return (eb: ExpressionBuilder<Tables, 'delivery'>): Expression<SqlBool> =>
    eb.and([
      // Said twice, so that both databases see that the index of those that wait has them all.
      eb('delivery.nextAttemptAt', 'is not', null),
      eb('delivery.nextAttemptAt', '<=', now),
      eb.not(
        eb.exists(
          eb
            .selectFrom('installState')
            .select('installState.install')
            .whereRef('installState.install', '=', 'delivery.install')
            .whereRef('installState.heldSince', '>', 'delivery.receivedAt'),
        ),
      ),
    ]);
}
