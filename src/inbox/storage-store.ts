import { randomInt } from 'node:crypto';
import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { DeliveryRow } from '../db/tables.ts';
import { rowOverheadBytes } from '../domain/delivery.ts';
import { oncePerSize } from './once-per-size-store.ts';

/**
 * The SQL that counts how much each install has stored. The count of one install consists of several
 * rows, and a transaction changes a random one of them, so that transactions seldom wait for each
 * other. One row alone means nothing and may be below zero.
 */

/** Only PostgreSQL has several writers at the same time, but both databases use the same code. */
const parts = 8;

/** How many bytes a row counts for. */
export function bytesOf({ headers, body }: Pick<DeliveryRow, 'headers' | 'body'>): number {
  return body.length + Buffer.byteLength(headers) + rowOverheadBytes;
}

/** The same for a row in the database. */
export const bytesOfRow = sql<number>`octet_length(body) + octet_length(headers) + ${sql.lit(rowOverheadBytes)}`;

/** @param changes bytes by install, below zero if deliveries were deleted */
export type CountStored = (tx: Transaction, changes: ReadonlyMap<string, number>) => Promise<void>;

export function createCountStored(kysely: Transaction): CountStored {
  const upsert = oncePerSize((size) =>
    kysely
      .insertInto('installStorage')
      .values(new Array(size).fill({ install: '', part: 0, bytes: 0 }))
      .onConflict((conflict) =>
        conflict.columns(['install', 'part']).doUpdateSet((eb) => ({
          bytes: eb('installStorage.bytes', '+', eb.ref('excluded.bytes')),
        })),
      )
      .compile(),
  );
  return async (tx, changes) => {
    if (changes.size === 0) return;
    const part = randomInt(parts);
    // In the same order in every transaction, so that no two can deadlock.
    const rows = [...changes].sort(([a], [b]) => (a < b ? -1 : 1));
    const parameters = rows.flatMap(([install, bytes]) => [install, part, bytes]);
    await tx.executeQuery({ ...upsert(rows.length), parameters });
  };
}

/** @param rows an install and bytes that it gained or lost; an install may come several times */
export function sumByInstall(rows: Iterable<{ install: string; bytes: number }>): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { install, bytes } of rows) sums.set(install, (sums.get(install) ?? 0) + bytes);
  return sums;
}

/** How many bytes each install has stored. */
export async function readStored(tx: Transaction): Promise<ReadonlyMap<string, number>> {
  return sumByInstall(await tx.selectFrom('installStorage').select(['install', 'bytes']).execute());
}
