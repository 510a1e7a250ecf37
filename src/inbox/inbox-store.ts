import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import { bodyContext } from '../db/seal-contexts.ts';
import { writeSetting } from '../db/setting-store.ts';
import type { Appended, NewDelivery } from '../domain/delivery.ts';
import { AppError } from '../domain/errors.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { createTurns } from '../lib/turns.ts';
import { type AppendedRow, deliveryKeyOf, insertNew } from './append-store.ts';
import { toBodyKey } from './body-key.ts';
import {
  type DeliveryFilter,
  type ListedDelivery,
  listDeliveries,
  listDeliveriesIn,
  listDeliveryIds,
  listedColumns,
} from './delivery-list-store.ts';
import { type Condition, type DueDelivery, findDue, isIn, isKept, makeDue, selectDue } from './due-store.ts';
import { type ReadEvent, readerVersion, readJson, toReadEvent } from './event-schema.ts';
import { deleteOld, deleteSettled, readStored } from './storage-store.ts';

/** The only SQL about deliveries. Install and key of the body identify a delivery. */
export interface InboxStore {
  /**
   * Stores deliveries in one transaction, all or none. A body that is stored already is a duplicate. If
   * handling that delivery had failed, it becomes due again.
   */
  append(deliveries: readonly NewDelivery[]): Promise<Appended[]>;
  /** @param except installs whose deliveries are ignored */
  hasDue(now: string, except?: ReadonlySet<string>): Promise<boolean>;
  /**
   * Due deliveries; installs take turns, and each install's oldest come first. Deliveries from before a
   * silence wait until their install is read.
   */
  due(tx: Transaction, now: string, limit: number): Promise<DueDelivery[]>;
  /** The delivery with this id, if it is still due. */
  dueById(tx: Transaction, now: string, id: number): Promise<DueDelivery[]>;
  /**
   * @throws AppError `not_found` if the body was not kept, `internal` if it cannot be decrypted
   */
  openBody(delivery: SealedDelivery): Buffer;
  settle(tx: Transaction, ids: number[]): Promise<void>;
  /** Keeps a delivery that is not an event for this reader. */
  settleUnread(tx: Transaction, id: number, read: Unread): Promise<void>;
  /** Keeps a delivery that could not be applied completely, for a repeat or a replay. */
  refuse(tx: Transaction, id: number, failure: string): Promise<void>;
  /** Postpones a delivery until `nextAttemptAt`; if that is null, for good. */
  postpone(id: number, failure: string, nextAttemptAt: string | null): Promise<void>;
  list(filter: DeliveryFilter): Promise<ListedDelivery[]>;
  /** The ids of what `list` gives. */
  listIds(filter: DeliveryFilter): Promise<number[]>;
  /** Those of these deliveries that are still stored, the newest first. */
  listIn(ids: readonly number[]): Promise<ListedDelivery[]>;
  find(id: number): Promise<ListedDelivery | undefined>;
  /** The body, byte for byte. @throws AppError as `openBody` */
  findBody(id: number): Promise<Buffer | undefined>;
  /** A page in the order of ids, for going through all deliveries. */
  page(afterId: number, limit: number): Promise<PagedDelivery[]>;
  /** Deletes the settled ones of them. @returns how many */
  remove(ids: number[]): Promise<number>;
  /**
   * Makes deliveries due again, whatever their state, except those whose body was not kept.
   * @returns which of them
   */
  replay(tx: Transaction, ids: readonly number[], now: string): Promise<number[]>;
  /** Makes failed deliveries due again. @returns which */
  replayFailed(tx: Transaction, now: string): Promise<number[]>;
  /** Makes deliveries due that an older reader could not read. @returns how many */
  replayUnread(now: string): Promise<number>;
  countDue(): Promise<number>;
  /** How many bytes each install has stored. */
  readStored(): Promise<ReadonlyMap<string, number>>;
  /** @throws AppError `unavailable` if nothing can be stored now */
  checkWritable(): Promise<void>;
  /** Deletes up to `limit` of the oldest settled deliveries from before `before`. @returns how many */
  purge(before: string, limit: number): Promise<number>;
}

type SealedDelivery = Pick<Row<'delivery'>, 'install' | 'bodySha256' | 'body'>;

export type PagedDelivery = Pick<Row<'delivery'>, 'id' | 'install' | 'bodySha256' | 'body' | 'nextAttemptAt'>;

export type Unread = Exclude<ReadEvent, { outcome: 'event' }>;

interface KeyedDelivery {
  delivery: NewDelivery;
  read: ReadEvent;
  bodyKey: Buffer;
  /** Install and `bodyKey` as text. */
  key: string;
}

export function createInboxStore(database: Database, box: SecretBox): InboxStore {
  const { kysely } = database;
  const turns = createTurns();

  function toRow({ delivery, read, bodyKey }: KeyedDelivery): AppendedRow {
    const { install, deliveryId, receivedAt, headers, body, traceContext = null } = delivery;
    const isEvent = read.outcome === 'event';
    return {
      install,
      bodySha256: bodyKey,
      deliveryId,
      eventType: isEvent ? read.event.type : read.type,
      subjectId: subjectOf(read),
      receivedAt,
      state: isEvent ? 'pending' : read.outcome,
      nextAttemptAt: isEvent ? receivedAt : null,
      failure: read.outcome === 'unprocessable' ? read.reason : null,
      readerVersion,
      headers,
      traceContext,
      // Of an ignored delivery only the key is kept, which is enough to recognise a repeat.
      body: read.outcome === 'ignored' ? notKept : box.seal(body, bodyContext({ install, bodySha256: bodyKey })),
    };
  }

  function openBody({ install, bodySha256, body }: SealedDelivery): Buffer {
    if (body.length === 0) {
      throw new AppError('not_found', 'The body was not kept: nothing uses events of this type');
    }
    return box.open(body, bodyContext({ install, bodySha256 }));
  }

  return {
    async append(deliveries) {
      const keyed = deliveries.map(toKeyed);
      // In the same order in every instance, so that two that store the same cannot deadlock.
      const rows = [...new Map(keyed.map((one) => [one.key, one])).values()]
        .sort((a, b) => (a.key < b.key ? -1 : 1))
        .map(toRow);
      const stored = await inTransaction(database, (tx) => insertNew(tx, rows), {
        isDurable: true,
      });
      // Of two in one batch, the first is new.
      return keyed.map(({ read, key }) => ({ status: stored.delete(key) ? statusOf(read) : 'duplicate' }));
    },

    async hasDue(now, except) {
      const { installs } = await findDue(database, kysely, now);
      return installs.some((install) => !except?.has(install));
    },

    async due(tx, now, limit) {
      const { installs, select } = await findDue(database, tx, now);
      return await turns.take(installs, limit, select);
    },

    dueById: (tx, now, id) => selectDue(tx, now).where('id', '=', id).execute(),

    openBody,

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

    async refuse(tx, id, failure) {
      await tx
        .updateTable('delivery')
        .set({ state: 'failed', nextAttemptAt: null, failure })
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

    list: (filter) => listDeliveries(kysely, filter),

    listIds: (filter) => listDeliveryIds(kysely, filter),

    listIn: (ids) => listDeliveriesIn(kysely, ids),

    find: (id) => kysely.selectFrom('delivery').select(listedColumns).where('id', '=', id).executeTakeFirst(),

    async findBody(id) {
      const sealed = await kysely
        .selectFrom('delivery')
        .select(['install', 'bodySha256', 'body'])
        .where('id', '=', id)
        .executeTakeFirst();
      return sealed && openBody(sealed);
    },

    page: (afterId, limit) =>
      kysely
        .selectFrom('delivery')
        .select(['id', 'install', 'bodySha256', 'body', 'nextAttemptAt'])
        .where('id', '>', afterId)
        .orderBy('id')
        .limit(limit)
        .execute(),

    remove: async (ids) => (ids.length === 0 ? 0 : await deleteSettled(database, ids)),

    replay: async (tx, ids, now) =>
      ids.length === 0 ? [] : await makeDue(tx, now, (which) => which.and([which('id', 'in', ids), isKept])),

    replayFailed: (tx, now) => makeDue(tx, now, isIn('failed')),

    async replayUnread(now) {
      const isUnread: Condition = (which) =>
        which.and([isIn('unprocessable')(which), which('readerVersion', '<', readerVersion)]);
      return (await inTransaction(database, (tx) => makeDue(tx, now, isUnread))).length;
    },

    async countDue() {
      const due = kysely.selectFrom('delivery').where('nextAttemptAt', 'is not', null);
      const { count } = await due.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
      return Number(count);
    },

    readStored: () => readStored(kysely),

    async checkWritable() {
      database.checkFile?.();
      // A write, so that it fails when storing would fail: lock, disk or connection.
      await inTransaction(database, (tx) => writeSetting(tx, 'last_write_check', 'ok'), {
        patienceMs: 1000,
      });
    },

    purge: (before, limit) => deleteOld(database, before, limit),
  };
}

const notKept = Buffer.alloc(0);

function toKeyed(delivery: NewDelivery): KeyedDelivery {
  const json = readJson(delivery.body);
  const bodyKey = toBodyKey(delivery.body, json);
  return { delivery, read: toReadEvent(json), bodyKey, key: deliveryKeyOf(delivery.install, bodyKey) };
}

/** What a timeline finds the delivery by. */
function subjectOf(read: ReadEvent): string | null {
  return read.outcome === 'event' ? (read.event.contract?.id ?? read.event.resourceId) : null;
}

function statusOf(read: ReadEvent): Appended['status'] {
  return read.outcome === 'event' ? 'accepted' : read.outcome;
}
