import { createHash } from 'node:crypto';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import type { DeliveryRow, NewDeliveryRow } from '../db/tables.ts';
import type { Appended, DeliveryState, NewDelivery } from '../domain/delivery.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { type ReadEvent, readEvent, readerVersion } from './event-schema.ts';

/** The only SQL about deliveries. A delivery is known by its install and the digest of its body. */
export interface InboxStore {
  /**
   * Stores deliveries in one transaction, all or none. A body that is stored already is a
   * duplicate; where handling that one had failed, it is taken up again.
   */
  append(deliveries: readonly NewDelivery[], signal?: AbortSignal): Promise<Appended[]>;
  /** Due deliveries, oldest first. */
  due(tx: Transaction, now: string, limit: number): Promise<DueDelivery[]>;
  /** @throws AppError `internal` when the stored body does not open */
  openBody(delivery: DueDelivery): Buffer;
  settle(tx: Transaction, ids: number[]): Promise<void>;
  /** Puts a delivery off until `nextAttemptAt`, or for good when that is null. */
  postpone(id: number, failure: string, nextAttemptAt: string | null): Promise<void>;
  list(filter: DeliveryFilter): Promise<ListedDelivery[]>;
  find(id: number): Promise<ListedDelivery | undefined>;
  /** Makes deliveries due again, whatever became of them before. @returns how many there were */
  replay(ids: number[], now: string): Promise<number>;
  /** Makes due what an older reader could not read. @returns how many there were */
  replayUnread(now: string): Promise<number>;
  /** Deletes up to `limit` of the oldest settled deliveries from before `before`. */
  purge(before: string, limit: number): Promise<number>;
}

export type DueDelivery = Pick<
  DeliveryRow,
  'id' | 'install' | 'bodySha256' | 'receivedAt' | 'attempts' | 'body'
>;

export interface DeliveryFilter {
  install?: string | undefined;
  state?: DeliveryState | undefined;
  limit: number;
}

export type ListedDelivery = Omit<DeliveryRow, 'body' | 'nextAttemptAt'>;

const listedColumns = [
  'id',
  'install',
  'bodySha256',
  'deliveryId',
  'eventType',
  'receivedAt',
  'state',
  'attempts',
  'failure',
  'readerVersion',
  'headers',
] as const;

interface KeyedDelivery {
  delivery: NewDelivery;
  read: ReadEvent;
  digest: Buffer;
  /** Install and digest, as text. */
  key: string;
}

export function createInboxStore(database: Database, box: SecretBox): InboxStore {
  const { kysely } = database;

  function toRow({ delivery, read, digest, key }: KeyedDelivery): NewDeliveryRow {
    const { install, deliveryId, receivedAt, headers, body } = delivery;
    const isEvent = read.outcome === 'event';
    return {
      install,
      bodySha256: digest,
      deliveryId,
      eventType: isEvent ? read.event.type : read.type,
      receivedAt,
      state: isEvent ? 'pending' : read.outcome,
      nextAttemptAt: isEvent ? receivedAt : null,
      failure: read.outcome === 'unprocessable' ? read.reason : null,
      readerVersion,
      headers: JSON.stringify(headers),
      body: box.seal(body, placeOf(key)),
    };
  }

  return {
    async append(deliveries, signal) {
      const keyed = deliveries.map(toKeyed);
      // In one order everywhere, so that two instances storing the same never lock crosswise.
      const rows = [...new Map(keyed.map((one) => [one.key, one])).values()]
        .sort((a, b) => (a.key < b.key ? -1 : 1))
        .map(toRow);
      const stored = await inTransaction(
        database,
        (tx) => insertNew(tx, rows),
        signal === undefined ? {} : { signal },
      );
      return keyed.map(({ delivery, read, key }) => {
        const isNew = stored.keys.delete(key);
        const senderId = `${delivery.install}/${delivery.deliveryId}`;
        return {
          status: isNew ? statusOf(read) : 'duplicate',
          isIdReused: isNew && stored.reusedIds.has(senderId),
        };
      });
    },

    due: (tx, now, limit) =>
      tx
        .selectFrom('delivery')
        .select(['id', 'install', 'bodySha256', 'receivedAt', 'attempts', 'body'])
        .where('nextAttemptAt', '<=', now)
        .orderBy('nextAttemptAt')
        .orderBy('id')
        .limit(limit)
        .execute(),

    openBody: ({ install, bodySha256, body }) =>
      box.open(body, placeOf(keyOf(install, bodySha256))),

    async settle(tx, ids) {
      await tx
        .updateTable('delivery')
        .set({ state: 'handled', nextAttemptAt: null, failure: null })
        .where('id', 'in', ids)
        .execute();
    },

    async postpone(id, failure, nextAttemptAt) {
      await inTransaction(database, (tx) =>
        tx
          .updateTable('delivery')
          .set((eb) => ({
            state: nextAttemptAt === null ? 'failed' : 'pending',
            attempts: eb('attempts', '+', 1),
            nextAttemptAt,
            failure,
          }))
          .where('id', '=', id)
          .execute(),
      );
    },

    async list({ install, state, limit }) {
      let query = kysely.selectFrom('delivery').select(listedColumns);
      if (install !== undefined) query = query.where('install', '=', install);
      if (state !== undefined) query = query.where('state', '=', state);
      return await query.orderBy('id', 'desc').limit(limit).execute();
    },

    find: (id) =>
      kysely.selectFrom('delivery').select(listedColumns).where('id', '=', id).executeTakeFirst(),

    async replay(ids, now) {
      const result = await inTransaction(database, (tx) =>
        tx.updateTable('delivery').set(dueAgain(now)).where('id', 'in', ids).executeTakeFirst(),
      );
      return Number(result.numUpdatedRows);
    },

    async replayUnread(now) {
      const result = await inTransaction(database, (tx) =>
        tx
          .updateTable('delivery')
          .set(dueAgain(now))
          .where('state', '=', 'unprocessable')
          .where('readerVersion', '<', readerVersion)
          .executeTakeFirst(),
      );
      return Number(result.numUpdatedRows);
    },

    async purge(before, limit) {
      const oldest = await kysely
        .selectFrom('delivery')
        .select(['id', 'receivedAt', 'nextAttemptAt'])
        .orderBy('id')
        .limit(limit)
        .execute();
      const ids = oldest
        .filter((row) => row.receivedAt < before && row.nextAttemptAt === null)
        .map((row) => row.id);
      if (ids.length === 0) return 0;
      await inTransaction(database, (tx) =>
        tx.deleteFrom('delivery').where('id', 'in', ids).execute(),
      );
      return ids.length;
    },
  };
}

function dueAgain(now: string) {
  return { state: 'pending', attempts: 0, nextAttemptAt: now, failure: null } as const;
}

interface Stored {
  /** Of the deliveries that were not there before. */
  keys: Set<string>;
  /** `install/delivery id` that now stand on more than one body. */
  reusedIds: Set<string>;
}

async function insertNew(tx: Transaction, rows: NewDeliveryRow[]): Promise<Stored> {
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
    .where(
      'bodySha256',
      'in',
      known.map((row) => row.bodySha256),
    )
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

function toKeyed(delivery: NewDelivery): KeyedDelivery {
  const digest = createHash('sha256').update(delivery.body).digest();
  const read = readEvent(delivery.body);
  return { delivery, read, digest, key: keyOf(delivery.install, digest) };
}

function statusOf(read: ReadEvent): Appended['status'] {
  return read.outcome === 'event' ? 'accepted' : read.outcome;
}

function keyOf(install: string, digest: Buffer): string {
  return `${install}/${digest.toString('hex')}`;
}

function placeOf(key: string): string {
  return `delivery.body:${key}`;
}
