import type { Transaction } from '../db/database.ts';
import type { NewDeliveryRow } from '../db/tables.ts';

/** Storing deliveries, once each: the statements inside the transaction that is answered for. */
export interface Stored {
  /** Of the deliveries that were not there before. */
  keys: Set<string>;
  /** `install/delivery id` that now stand on more than one body. */
  reusedIds: Set<string>;
}

/** @param rows distinct, and in one order everywhere */
export async function insertNew(tx: Transaction, rows: NewDeliveryRow[]): Promise<Stored> {
  if (rows.length === 0) return { keys: new Set(), reusedIds: new Set() };
  const inserted = await tx
    .insertInto('delivery')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['install', 'bodySha256']).doNothing())
    .returning(['install', 'bodySha256', 'deliveryId'])
    .execute();
  const keys = new Set(inserted.map((row) => keyOf(row.install, row.bodySha256)));
  if (keys.size < rows.length) await retakeFailed(tx, rows, keys);
  const ids = inserted.flatMap((row) => row.deliveryId ?? []);
  return { keys, reusedIds: ids.length === 0 ? new Set() : await findReusedIds(tx, ids) };
}

/** The sender repeats what it believes to have failed; if it did fail here, it is looked at again. */
async function retakeFailed(
  tx: Transaction,
  rows: NewDeliveryRow[],
  newKeys: Set<string>,
): Promise<void> {
  const known = rows.filter((row) => !newKeys.has(keyOf(row.install, row.bodySha256)));
  await tx
    .updateTable('delivery')
    .set((eb) => ({ ...dueAgain(known[0]?.receivedAt ?? ''), failure: eb.ref('failure') }))
    .where('state', '=', 'failed')
    .where((eb) => eb.or(known.map(({ install, bodySha256 }) => eb.and({ install, bodySha256 }))))
    .execute();
}

async function findReusedIds(tx: Transaction, deliveryIds: string[]): Promise<Set<string>> {
  const rows = await tx
    .selectFrom('delivery')
    .select(['install', 'deliveryId'])
    .where('deliveryId', 'in', deliveryIds)
    .groupBy(['install', 'deliveryId'])
    .having((eb) => eb.fn.countAll(), '>', 1)
    .execute();
  return new Set(rows.map((row) => `${row.install}/${row.deliveryId}`));
}

/** What a delivery is given to be looked at as if it had just come in. */
export function dueAgain(now: string) {
  return { state: 'pending', attempts: 0, nextAttemptAt: now, failure: null } as const;
}

/** Install and digest, as text. */
export function keyOf(install: string, digest: Buffer): string {
  return `${install}/${digest.toString('hex')}`;
}
