import { type Expression, type ExpressionBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import { firstIdSince, hasRows, installsIn } from '../db/query.ts';
import type { Row, Tables } from '../db/schema.ts';
import { pendingAgain } from './append-store.ts';
import type { Condition } from './delivery-list-store.ts';

/** The SQL of due deliveries: which ones are due, and making others due again. */

export type DueDelivery = Pick<Row<'delivery'>, 'id' | 'install' | 'bodySha256' | 'receivedAt' | 'attempts' | 'body'>;

export function selectDue(db: Transaction, now: string) {
  return dueIn(db.selectFrom('delivery'), now);
}

type Deliveries = SelectQueryBuilder<Tables, 'delivery', object>;

function dueIn(deliveries: Deliveries, now: string) {
  return deliveries.select(['id', 'install', 'bodySha256', 'receivedAt', 'attempts', 'body']).where(isDue(now));
}

export interface Due {
  /** The installs that have due deliveries. */
  installs: string[];
  /** The oldest due deliveries of one install. */
  select(install: string, limit: number): Promise<DueDelivery[]>;
}

export async function findDue({ dialect }: Pick<Database, 'dialect'>, db: Transaction, now: string): Promise<Due> {
  const firstIds = await findFirstIds(db);
  const waiting = dialect === 'sqlite' ? selectByTurn(db) : db.selectFrom('delivery');
  const select = (install: string) =>
    dueIn(waiting, now)
      .where('install', '=', install)
      .where('id', '>=', firstIds.get(install) ?? 0)
      .orderBy('id');
  const installs: string[] = [];
  for (const install of await installsIn(db, 'delivery', { which: sql`next_attempt_at is not null` })) {
    if (await hasRows(select(install).clearSelect())) installs.push(install);
  }
  return { installs, select: (install, limit) => select(install).limit(limit).execute() };
}

/** Left to itself, SQLite takes the index of all deliveries of an install, and goes through all that are handled. */
function selectByTurn(db: Transaction): Deliveries {
  const table = sql`delivery`.as<'delivery'>(sql`delivery indexed by delivery_turn`);
  return db.selectFrom(table) as unknown as Deliveries;
}

/** For installs on hold: the first delivery after the hold began. Older ones are not even looked at. */
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
      // Both conditions are needed, so that both databases use the partial index.
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

/** A delivery without its body cannot be handled again. */
export const isKept = sql<SqlBool>`octet_length(body) > 0`;

/** @returns which deliveries were made due */
export async function makeDue(tx: Transaction, now: string, which: Condition): Promise<number[]> {
  const due = await tx.updateTable('delivery').set(pendingAgain(now)).where(which).returning('id').execute();
  return due.map(({ id }) => id).sort((a, b) => a - b);
}
