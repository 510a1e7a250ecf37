import { createHash } from 'node:crypto';
import type { Transaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import { toInstantText } from '../domain/marketplace-text.ts';
import { bytesOf, countStored, sumByInstall } from './storage-store.ts';

export type AppendedRow = Omit<Row<'delivery'>, 'id' | 'attempts'>;

/**
 * Stores deliveries, inside one transaction.
 *
 * @param rows distinct, and in the same order in every instance
 * @returns the keys of the deliveries that are new
 */
export async function insertNew(tx: Transaction, rows: AppendedRow[]): Promise<Set<string>> {
  if (rows.length === 0) return new Set();
  const keys = await insertAll(tx, rows);
  if (keys.size < rows.length) await retakeFailed(tx, rows, keys);
  const isNew = (row: AppendedRow) => keys.has(deliveryKeyOf(row.install, row.bodySha256));
  const added = keys.size === rows.length ? rows : rows.filter(isNew);
  const sizes = added.map((row) => ({ install: row.install, bytes: bytesOf(row) }));
  await countStored(tx, sumByInstall(sizes));
  return keys;
}

async function insertAll(tx: Transaction, rows: AppendedRow[]): Promise<Set<string>> {
  if (rows.length === 0) return new Set();
  const inserted = await tx
    .insertInto('delivery')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['install', 'bodySha256']).doNothing())
    .returning('id')
    .execute();
  // Nearly always all are new, and reading ids costs less than reading keys.
  return toKeys(inserted.length === rows.length ? rows : await findInserted(tx, inserted));
}

const keyColumns = ['install', 'bodySha256'] as const;

type RowKey = Pick<Row<'delivery'>, (typeof keyColumns)[number]>;
type RowId = Pick<Row<'delivery'>, 'id'>;

function toKeys(rows: RowKey[]): Set<string> {
  return new Set(rows.map(({ install, bodySha256 }) => deliveryKeyOf(install, bodySha256)));
}

async function findInserted(tx: Transaction, inserted: RowId[]): Promise<RowKey[]> {
  const ids = inserted.map(({ id }) => id);
  return ids.length === 0 ? [] : await tx.selectFrom('delivery').select(keyColumns).where('id', 'in', ids).execute();
}

/** A sender repeats a delivery that it believes failed. If handling it did fail here, it is handled again. */
async function retakeFailed(tx: Transaction, rows: AppendedRow[], newKeys: Set<string>): Promise<void> {
  const known = rows.filter((row) => !newKeys.has(deliveryKeyOf(row.install, row.bodySha256)));
  await tx
    .updateTable('delivery')
    .set((eb) => ({ ...pendingAgain(known[0]?.receivedAt ?? ''), failure: eb.ref('failure') }))
    .where('state', '=', 'failed')
    .where((eb) => eb.or(known.map(({ install, bodySha256 }) => eb.and({ install, bodySha256 }))))
    .execute();
}

/** The values of a delivery that has just arrived. */
export function pendingAgain(now: string) {
  return { state: 'pending', attempts: 0, nextAttemptAt: now, failure: null } as const;
}

/** Install and key of the body as text. */
export function deliveryKeyOf(install: string, bodyKey: Buffer): string {
  return `${install}/${bodyKey.toString('hex')}`;
}

const instantBytes = 6;
const digestBytes = 32;

/**
 * What identifies a body of an install: when it says that it was created, in milliseconds since 1970 (6 bytes, the
 * greatest first; zero where it says nothing readable, or a time before 1970), then its SHA-256 (32 bytes). It begins
 * with the time so that bodies that come together lie together in the index: by digests alone, each lies in a page
 * that has to be read from the disk. It follows from the body alone, so a repeat meets it whenever and however it
 * comes. Do not change it: stored deliveries would no longer be met.
 *
 * @param json the body, parsed; undefined if it is no JSON
 */
export function toBodyKey(body: Uint8Array, json: unknown): Buffer {
  const key = Buffer.alloc(instantBytes + digestBytes);
  key.writeUIntBE(createdMsOf(json), 0, instantBytes);
  createHash('sha256').update(body).digest().copy(key, instantBytes);
  return key;
}

/** The SHA-256 of the body. */
export function digestOf(bodyKey: Buffer): Buffer {
  return bodyKey.subarray(-digestBytes);
}

function createdMsOf(json: unknown): number {
  const createdAt = toInstantText((json as { createdAt?: unknown } | null | undefined)?.createdAt);
  return createdAt === undefined ? 0 : Math.max(0, Date.parse(createdAt));
}
