import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import { type Database, inTransaction } from '../db/database.ts';
import type { Tables } from '../db/tables.ts';
import type { DeliveryState } from '../domain/delivery.ts';
import { pendingAgain } from './append-store.ts';

/** The SQL of looking at deliveries again: which ones, and making them due. */
export type Condition = (eb: ExpressionBuilder<Tables, 'delivery'>) => Expression<SqlBool>;

/** Without its body there is nothing to look at. */
export const isKept = sql<SqlBool>`octet_length(body) > 0`;

/** What is in trouble says why, and by that it is found among millions that are not. */
export function isIn(state: DeliveryState): Condition {
  const isTrouble = state === 'failed' || state === 'unprocessable';
  return (eb) =>
    isTrouble ? eb.and([eb('state', '=', state), eb('failure', 'is not', null)]) : eb('state', '=', state);
}

/** @returns how many there were */
export async function makeDue(database: Database, now: string, which: Condition): Promise<number> {
  const updated = await inTransaction(database, (tx) =>
    tx.updateTable('delivery').set(pendingAgain(now)).where(which).executeTakeFirst(),
  );
  return Number(updated.numUpdatedRows);
}
