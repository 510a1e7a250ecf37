import { createHash } from 'node:crypto';
import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { writeSetting } from '../db/setting-store.ts';
import type { DeliveryRow, Tables } from '../db/tables.ts';
import type { Appended, DeliveryState, NewDelivery } from '../domain/delivery.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { type AppendedRow, createAppendStatements, dueAgain, keyOf } from './append-store.ts';
import { type ReadEvent, readEvent, readerVersion } from './event-schema.ts';

/** The only SQL about deliveries. A delivery is known by its install and the digest of its body. */
export interface InboxStore {
  /**
   * Stores deliveries in one transaction, all or none. A body that is stored already is a
   * duplicate; where handling that one had failed, it is taken up again.
   */
  append(deliveries: readonly NewDelivery[]): Promise<Appended[]>;
  hasDue(now: string): Promise<boolean>;
  /** Due deliveries, oldest first. */
  due(tx: Transaction, now: string, limit: number): Promise<DueDelivery[]>;
  /** @throws AppError `internal` when the stored body does not open */
  openBody(delivery: DueDelivery): Buffer;
  settle(tx: Transaction, ids: number[]): Promise<void>;
  /** Keeps a delivery as what this reader takes it for, which is no event. */
  settleUnread(tx: Transaction, id: number, read: Unread): Promise<void>;
  /** Puts a delivery off until `nextAttemptAt`, or for good when that is null. */
  postpone(id: number, failure: string, nextAttemptAt: string | null): Promise<void>;
  list(filter: DeliveryFilter): Promise<ListedDelivery[]>;
  find(id: number): Promise<ListedDelivery | undefined>;
  /** Makes deliveries due again, whatever became of them before. @returns how many there were */
  replay(ids: number[], now: string): Promise<number>;
  /** Makes due what could not be handled. @returns how many there were */
  replayFailed(now: string): Promise<number>;
  /** Makes due what an older reader could not read. @returns how many there were */
  replayUnread(now: string): Promise<number>;
  countDue(): Promise<number>;
  /** @throws AppError `unavailable` when nothing could be stored now */
  checkWritable(): Promise<void>;
  /** Deletes up to `limit` of the oldest settled ones from before `before`. @returns how many */
  purge(before: string, limit: number): Promise<number>;
}

export type DueDelivery = Pick<
  DeliveryRow,
  'id' | 'install' | 'bodySha256' | 'receivedAt' | 'attempts' | 'body'
>;

export type Unread = Exclude<ReadEvent, { outcome: 'event' }>;

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
  const statements = createAppendStatements(kysely);

  function toRow({ delivery, read, digest, key }: KeyedDelivery): AppendedRow {
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
      headers,
      body: box.seal(body, placeOf(key)),
    };
  }

  return {
    async append(deliveries) {
      const keyed = deliveries.map(toKeyed);
      // In one order everywhere, so that two instances storing the same never lock crosswise.
      const rows = [...new Map(keyed.map((one) => [one.key, one])).values()]
        .sort((a, b) => (a.key < b.key ? -1 : 1))
        .map(toRow);
      const stored = await inTransaction(database, (tx) => statements.insertNew(tx, rows), {
        isDurable: true,
      });
      return keyed.map(({ delivery, read, key }) => {
        const isNew = stored.keys.delete(key);
        const senderId = `${delivery.install}/${delivery.deliveryId}`;
        return {
          status: isNew ? statusOf(read) : 'duplicate',
          isIdReused: isNew && stored.reusedIds.has(senderId),
        };
      });
    },

    async hasDue(now) {
      const due = kysely.selectFrom('delivery').select('id').where('nextAttemptAt', '<=', now);
      return (await due.limit(1).executeTakeFirst()) !== undefined;
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

    async settleUnread(tx, id, read) {
      const failure = read.outcome === 'unprocessable' ? read.reason : null;
      await tx
        .updateTable('delivery')
        .set({ state: read.outcome, nextAttemptAt: null, failure, readerVersion })
        .where('id', '=', id)
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
      if (state !== undefined) query = query.where(isIn(state));
      return await query.orderBy('id', 'desc').limit(limit).execute();
    },

    find: (id) =>
      kysely.selectFrom('delivery').select(listedColumns).where('id', '=', id).executeTakeFirst(),

    replay: async (ids, now) =>
      ids.length === 0 ? 0 : await makeDue(database, now, (which) => which('id', 'in', ids)),

    replayFailed: (now) => makeDue(database, now, isIn('failed')),

    replayUnread: (now) =>
      makeDue(database, now, (which) =>
        which.and([isIn('unprocessable')(which), which('readerVersion', '<', readerVersion)]),
      ),

    async countDue() {
      const due = kysely.selectFrom('delivery').where('nextAttemptAt', 'is not', null);
      const { count } = await due
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      return Number(count);
    },

    async checkWritable() {
      // Begins as storing does, and so fails as it would: lock, disk, connection.
      await inTransaction(database, (tx) => writeSetting(tx, 'last_write_check', 'ok'), {
        patienceMs: 1000,
      });
    },

    async purge(before, limit) {
      // Ids grow with time: a page with a young delivery is the last worth looking at.
      for (let lastId = 0; ; ) {
        const page = await kysely
          .selectFrom('delivery')
          .select(['id', 'receivedAt', 'nextAttemptAt'])
          .where('id', '>', lastId)
          .orderBy('id')
          .limit(limit)
          .execute();
        const old = page.filter((row) => row.receivedAt < before);
        const settled = old.flatMap((row) => (row.nextAttemptAt === null ? [row.id] : []));
        if (settled.length > 0) return await deleteSettled(database, settled);
        if (old.length < limit) return 0;
        lastId = page.at(-1)?.id ?? 0;
      }
    },
  };
}

/** Those that were made due again meanwhile stay. */
async function deleteSettled(database: Database, ids: number[]): Promise<number> {
  const result = await inTransaction(database, (tx) =>
    tx
      .deleteFrom('delivery')
      .where('id', 'in', ids)
      .where('nextAttemptAt', 'is', null)
      .executeTakeFirst(),
  );
  return Number(result.numDeletedRows);
}

type Condition = (eb: ExpressionBuilder<Tables, 'delivery'>) => Expression<SqlBool>;

/** What is in trouble says why, and by that it is found among millions that are not. */
function isIn(state: DeliveryState): Condition {
  const isTrouble = state === 'failed' || state === 'unprocessable';
  return (eb) =>
    isTrouble
      ? eb.and([eb('state', '=', state), eb('failure', 'is not', null)])
      : eb('state', '=', state);
}

async function makeDue(database: Database, now: string, which: Condition): Promise<number> {
  const updated = await inTransaction(database, (tx) =>
    tx.updateTable('delivery').set(dueAgain(now)).where(which).executeTakeFirst(),
  );
  return Number(updated.numUpdatedRows);
}

function toKeyed(delivery: NewDelivery): KeyedDelivery {
  const digest = createHash('sha256').update(delivery.body).digest();
  const read = readEvent(delivery.body);
  return { delivery, read, digest, key: keyOf(delivery.install, digest) };
}

function statusOf(read: ReadEvent): Appended['status'] {
  return read.outcome === 'event' ? 'accepted' : read.outcome;
}

function placeOf(key: string): string {
  return `delivery.body:${key}`;
}
