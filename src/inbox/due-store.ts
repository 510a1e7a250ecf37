import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import { firstIdSince } from '../db/first-id-since.ts';
import type { DeliveryRow, Tables } from '../db/tables.ts';

/** The SQL of the deliveries whose time has come. */

export type DueDelivery = Pick<DeliveryRow, 'id' | 'install' | 'bodySha256' | 'receivedAt' | 'attempts' | 'body'>;

export function selectDue(db: Transaction, now: string) {
  return db
    .selectFrom('delivery')
    .select(['id', 'install', 'bodySha256', 'receivedAt', 'attempts', 'body'])
    .where(isDue(now));
}

export interface Due {
  /** That have any. */
  installs: string[];
  /** The first of one install that came in. */
  select(install: string, limit: number): Promise<DueDelivery[]>;
}

export async function findDue(db: Transaction, now: string): Promise<Due> {
  const firstIds = await findFirstIds(db);
  const select = (install: string) =>
    selectDue(db, now)
      .where('install', '=', install)
      .where('id', '>=', firstIds.get(install) ?? 0)
      .orderBy('id');
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
  const installs: string[] = [];
  for (const { install } of rows) {
    const any = select(install).clearSelect().select('id').limit(1);
    if ((await any.executeTakeFirst()) !== undefined) installs.push(install);
  }
  return { installs, select: (install, limit) => select(install).limit(limit).execute() };
}

/** Of installs that are to be read first: what came in before is not looked at, however much it is. */
async function findFirstIds(db: Transaction): Promise<Map<string, number>> {
  const held = await db
    .selectFrom('installState')
    .select(['install', 'heldSince'])
    .where('heldSince', 'is not', null)
    .execute();
  const firstIds = new Map<string, number>();
  for (const { install, heldSince } of held) {
    firstIds.set(install, await firstIdSince(db, 'delivery', 'receivedAt', heldSince ?? ''));
  }
  return firstIds;
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
