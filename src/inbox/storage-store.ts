import { randomInt } from 'node:crypto';
import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { DeliveryRow } from '../db/tables.ts';
import { rowOverheadBytes } from '../domain/delivery.ts';
import { oncePerSize } from './once-per-size-store.ts';

/**
 * The SQL of how much each install has stored. The count of one install lies in several parts, of
 * which a transaction changes any one: so those that store at the same time seldom wait for each
 * other. A part alone means nothing, and may be below zero.
 */

/** PostgreSQL alone has several writers at the same time, but one way serves both. */
const parts = 8;

/** What a row counts for; what the migration counted with must be the same. */
export function bytesOf({ headers, body }: Pick<DeliveryRow, 'headers' | 'body'>): number {
  return body.length + Buffer.byteLength(headers) + rowOverheadBytes;
}

/** The same, where the row is in the database. */
export const bytesOfRow = sql<number>`octet_length(body) + octet_length(headers) + ${sql.lit(rowOverheadBytes)}`;

/** @param changes bytes by install, below zero where deliveries were deleted */
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
    // In one order everywhere, so that no two ever wait for each other crosswise.
    const rows = [...changes].sort(([a], [b]) => (a < b ? -1 : 1));
    const parameters = rows.flatMap(([install, bytes]) => [install, part, bytes]);
    await tx.executeQuery({ ...upsert(rows.length), parameters });
  };
}

/** @param rows an install and what it stored or lost, several times each */
export function sumByInstall(rows: Iterable<{ install: string; bytes: number }>): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { install, bytes } of rows) sums.set(install, (sums.get(install) ?? 0) + bytes);
  return sums;
}

/** What each install has stored, in bytes. */
export async function readStored(tx: Transaction): Promise<ReadonlyMap<string, number>> {
  return sumByInstall(await tx.selectFrom('installStorage').select(['install', 'bytes']).execute());
}
