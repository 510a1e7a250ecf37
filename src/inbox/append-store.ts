import { createHash } from 'node:crypto';
import type { Storage } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import { bodyContext } from '../db/seal-contexts.ts';
import type { Appended, NewDelivery } from '../domain/delivery.ts';
import { toInstantText } from '../domain/marketplace-text.ts';
import { type ReadEvent, readerVersion, readJson, toReadEvent } from './event-schema.ts';
import { bytesOf, countStored, sumByInstall } from './storage-store.ts';

// The SQL of storing new deliveries. A delivery is identified by its install and the key of its body.

interface KeyedDelivery {
  delivery: NewDelivery;
  read: ReadEvent;
  bodyKey: Buffer;
  /** Install and `bodyKey` as text. */
  key: string;
}

type AppendedRow = Omit<Row<'delivery'>, 'id' | 'attempts'>;

/**
 * Stores deliveries in one transaction, all or none. A delivery whose body is already stored is a duplicate. If
 * handling the stored one had failed, it becomes due again.
 */
export async function appendDeliveries(ctx: Storage, deliveries: readonly NewDelivery[]): Promise<Appended[]> {
  const keyed = deliveries.map(toKeyed);
  // In the same order in every instance, so that two that store the same deliveries cannot deadlock.
  const rows = [...new Map(keyed.map((one) => [one.key, one])).values()]
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map((row) => toRow(ctx, row));
  const stored = await inTransaction(ctx.database, (tx) => insertNew(tx, rows), { isDurable: true });
  // Of two in one batch, the first is new.
  return keyed.map(({ read, key }) => ({ status: stored.delete(key) ? statusOf(read) : 'duplicate' }));
}

function toKeyed(delivery: NewDelivery): KeyedDelivery {
  const json = readJson(delivery.body);
  const bodyKey = toBodyKey(delivery.body, json);
  return { delivery, read: toReadEvent(json), bodyKey, key: deliveryKeyOf(delivery.install, bodyKey) };
}

function statusOf(read: ReadEvent): Appended['status'] {
  return read.outcome === 'event' ? 'accepted' : read.outcome;
}

function toRow(ctx: Storage, { delivery, read, bodyKey }: KeyedDelivery): AppendedRow {
  const { install, deliveryId, receivedAt, headers, body } = delivery;
  const isEvent = read.outcome === 'event';
  return {
    install,
    bodySha256: bodyKey,
    deliveryId,
    eventType: isEvent ? read.event.type : read.type,
    // A timeline finds the delivery by it.
    subjectId: isEvent ? (read.event.contract?.id ?? read.event.resourceId) : null,
    receivedAt,
    state: isEvent ? 'pending' : read.outcome,
    nextAttemptAt: isEvent ? receivedAt : null,
    failure: read.outcome === 'unprocessable' ? read.reason : null,
    readerVersion,
    headers,
    // Of an ignored delivery only the key is kept, which is enough to recognise a repeat.
    body:
      read.outcome === 'ignored' ? Buffer.alloc(0) : ctx.box.seal(body, bodyContext({ install, bodySha256: bodyKey })),
  };
}

/** @returns the keys of the deliveries that are new */
async function insertNew(tx: Transaction, rows: AppendedRow[]): Promise<Set<string>> {
  if (rows.length === 0) return new Set();
  const inserted = await tx
    .insertInto('delivery')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['install', 'bodySha256']).doNothing())
    .returning('id')
    .execute();
  const isAllNew = inserted.length === rows.length;
  // Nearly always all are new, and reading ids costs less than reading keys.
  const keys = new Set((isAllNew ? rows : await findInserted(tx, inserted)).map(keyOfRow));
  if (!isAllNew) await retakeFailed(tx, rows, keys);
  const added = isAllNew ? rows : rows.filter((row) => keys.has(keyOfRow(row)));
  await countStored(tx, sumByInstall(added.map((row) => ({ install: row.install, bytes: bytesOf(row) }))));
  return keys;
}

type RowKey = Pick<Row<'delivery'>, 'install' | 'bodySha256'>;

function keyOfRow({ install, bodySha256 }: RowKey): string {
  return deliveryKeyOf(install, bodySha256);
}

async function findInserted(tx: Transaction, inserted: Pick<Row<'delivery'>, 'id'>[]): Promise<RowKey[]> {
  const ids = inserted.map(({ id }) => id);
  return await tx.selectFrom('delivery').select(['install', 'bodySha256']).where('id', 'in', ids).execute();
}

/** A sender repeats a delivery that it believes failed. If handling it did fail here, it is handled again. */
async function retakeFailed(tx: Transaction, rows: AppendedRow[], newKeys: Set<string>): Promise<void> {
  const known = rows.filter((row) => !newKeys.has(keyOfRow(row)));
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
function deliveryKeyOf(install: string, bodyKey: Buffer): string {
  return `${install}/${bodyKey.toString('hex')}`;
}

const instantBytes = 6;
const digestBytes = 32;

/**
 * What identifies a body of an install: its `createdAt` in milliseconds since 1970 (6 bytes, big-endian; zero if that
 * is unreadable or before 1970), then its SHA-256 (32 bytes). The key starts with the time, so that deliveries which
 * arrive together are neighbours in the index: with the digest alone, each is in a page of its own that must be read
 * from the disk. The key depends on the body alone, so it recognises every repeat. Do not change it: it would no longer
 * match stored deliveries.
 *
 * @param json the parsed body; undefined if it is not JSON
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
