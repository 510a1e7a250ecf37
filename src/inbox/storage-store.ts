import { randomInt } from 'node:crypto';
import { sql } from 'kysely';
import type { Storage } from '../context.ts';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import { rowOverheadBytes } from '../domain/delivery.ts';

// The SQL that counts how much each install has stored, and deletes deliveries: a few at a time, and none that is due.
// The count of an install is the sum of several rows. Each transaction changes a random one of them, so that
// transactions seldom wait for each other. A single row may be negative.

/** Rows per install. Only PostgreSQL has several writers at the same time, but both databases use the same code. */
const parts = 8;

/** The row that counts only hires, in transactions that exclude each other. */
const hiresPart = -1;
/** The space that a hire takes over time: evidence, membership, receipts. */
const bytesOfHire = 8 * 1024;

/** The bytes that a delivery is counted as. */
export function bytesOf({ headers, body }: Pick<Row<'delivery'>, 'headers' | 'body'>): number {
  return body.length + Buffer.byteLength(headers) + rowOverheadBytes;
}

/** The same for a row in the database. */
const bytesOfRow = sql<number>`octet_length(body) + octet_length(headers) + ${sql.lit(rowOverheadBytes)}`;

/** @param changes bytes by install, negative if deliveries were deleted */
export async function countStored(
  tx: Transaction,
  changes: ReadonlyMap<string, number>,
  part = randomInt(parts),
): Promise<void> {
  if (changes.size === 0) return;
  // In the same order in every transaction, so that no two can deadlock.
  const sorted = [...changes].sort(([a], [b]) => (a < b ? -1 : 1));
  await tx
    .insertInto('installStorage')
    .values(sorted.map(([install, bytes]) => ({ install, part, bytes })))
    .onConflict((conflict) =>
      conflict.columns(['install', 'part']).doUpdateSet((eb) => ({
        bytes: eb('installStorage.bytes', '+', eb.ref('excluded.bytes')),
      })),
    )
    .execute();
}

export function sumByInstall(rows: Iterable<{ install: string; bytes: number }>): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { install, bytes } of rows) sums.set(install, (sums.get(install) ?? 0) + bytes);
  return sums;
}

/** @param installs the install of each new hire */
export async function countHires(tx: Transaction, installs: readonly string[]): Promise<void> {
  const bytes = sumByInstall(installs.map((install) => ({ install, bytes: bytesOfHire })));
  await countStored(tx, bytes, hiresPart);
}

/** How many hires an install has. */
export async function readHires(tx: Transaction, install: string): Promise<number> {
  const counted = tx.selectFrom('installStorage').select('bytes').where('install', '=', install);
  const row = await counted.where('part', '=', hiresPart).executeTakeFirst();
  return (row?.bytes ?? 0) / bytesOfHire;
}

/** How many bytes each install has stored. */
export async function readStored(tx: Transaction): Promise<ReadonlyMap<string, number>> {
  return sumByInstall(await tx.selectFrom('installStorage').select(['install', 'bytes']).execute());
}

/** Deletes these deliveries, except those that have become due again. @returns how many */
export async function removeDeliveries(
  { database }: Pick<Storage, 'database'>,
  ids: readonly number[],
): Promise<number> {
  if (ids.length === 0) return 0;
  return await inTransaction(database, async (tx) => {
    const deleted = await tx
      .deleteFrom('delivery')
      .where('id', 'in', ids)
      .where('nextAttemptAt', 'is', null)
      .returning(['install', bytesOfRow.as('bytes')])
      .execute();
    const freed = deleted.map(({ install, bytes }) => ({ install, bytes: -bytes }));
    await countStored(tx, sumByInstall(freed));
    return deleted.length;
  });
}

/** Deletes some of the oldest settled deliveries from before `before`. @returns how many */
export async function deleteOld(database: Database, before: string, limit: number): Promise<number> {
  // Ids grow with time, so a page that is not full of old deliveries is the last one.
  for (let lastId = 0; ; ) {
    const page = await database.kysely
      .selectFrom('delivery')
      .select(['id', 'receivedAt', 'nextAttemptAt'])
      .where('id', '>', lastId)
      .orderBy('id')
      .limit(limit)
      .execute();
    const old = page.filter((row) => row.receivedAt < before);
    const settled = old.flatMap((row) => (row.nextAttemptAt === null ? [row.id] : []));
    if (settled.length > 0) return await removeDeliveries({ database }, settled);
    if (old.length < limit) return 0;
    lastId = page.at(-1)?.id ?? 0;
  }
}
