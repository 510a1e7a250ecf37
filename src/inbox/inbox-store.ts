import type { Storage } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import { bodyContext } from '../db/seal-contexts.ts';
import { writeSetting } from '../db/setting-store.ts';
import type { Appended, NewDelivery } from '../domain/delivery.ts';
import { AppError } from '../domain/errors.ts';
import { turnsOf } from '../lib/turns.ts';
import { type AppendedRow, deliveryKeyOf, insertNew, toBodyKey } from './append-store.ts';
import { type Condition, isIn, type ListedDelivery, listedColumns } from './delivery-list-store.ts';
import { type DueDelivery, findDue, isKept, makeDue, selectDue } from './due-store.ts';
import { type ReadEvent, readerVersion, readJson, toReadEvent } from './event-schema.ts';
import { deleteSettled } from './storage-store.ts';

// The only SQL about deliveries. Install and key of the body identify a delivery.

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

/**
 * Stores deliveries in one transaction, all or none. A body that is stored already is a duplicate. If
 * handling that delivery had failed, it becomes due again.
 */
export async function appendDeliveries(ctx: Storage, deliveries: readonly NewDelivery[]): Promise<Appended[]> {
  const keyed = deliveries.map(toKeyed);
  // In the same order in every instance, so that two that store the same cannot deadlock.
  const rows = [...new Map(keyed.map((one) => [one.key, one])).values()]
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map((row) => toRow(ctx, row));
  const stored = await inTransaction(ctx.database, (tx) => insertNew(tx, rows), {
    isDurable: true,
  });
  // Of two in one batch, the first is new.
  return keyed.map(({ read, key }) => ({ status: stored.delete(key) ? statusOf(read) : 'duplicate' }));
}

/** @param except installs whose deliveries are ignored */
export async function hasDueDeliveries(ctx: Storage, now: string, except?: ReadonlySet<string>): Promise<boolean> {
  const { installs } = await findDue(ctx.database, ctx.database.kysely, now);
  return installs.some((install) => !except?.has(install));
}

/**
 * Due deliveries; installs take turns, and each install's oldest come first. Deliveries from before a
 * silence wait until their install is read.
 */
export async function dueDeliveries(ctx: Storage, tx: Transaction, now: string, limit: number): Promise<DueDelivery[]> {
  const { installs, select } = await findDue(ctx.database, tx, now);
  return await turnsOf(ctx.database, 'inbox').take(installs, limit, select);
}

/** The delivery with this id, if it is still due. */
export function dueDeliveryById(tx: Transaction, now: string, id: number): Promise<DueDelivery[]> {
  return selectDue(tx, now).where('id', '=', id).execute();
}

/**
 * @throws AppError `not_found` if the body was not kept, `internal` if it cannot be decrypted
 */
export function openBody(ctx: Storage, { install, bodySha256, body }: SealedDelivery): Buffer {
  if (body.length === 0) {
    throw new AppError('not_found', 'The body was not kept: nothing uses events of this type');
  }
  return ctx.box.open(body, bodyContext({ install, bodySha256 }));
}

export async function settleDeliveries(tx: Transaction, ids: number[]): Promise<void> {
  await tx
    .updateTable('delivery')
    .set({ state: 'handled', nextAttemptAt: null, failure: null })
    .where('id', 'in', ids)
    .execute();
}

/** Keeps a delivery that is not an event for this reader. */
export async function settleUnreadDelivery(tx: Transaction, id: number, read: Unread): Promise<void> {
  const failure = read.outcome === 'unprocessable' ? read.reason : null;
  await tx
    .updateTable('delivery')
    .set({ state: read.outcome, nextAttemptAt: null, failure, readerVersion })
    .where('id', '=', id)
    .execute();
}

/** Keeps a delivery that could not be applied completely, for a repeat or a replay. */
export async function refuseDelivery(tx: Transaction, id: number, failure: string): Promise<void> {
  await tx
    .updateTable('delivery')
    .set({ state: 'failed', nextAttemptAt: null, failure })
    .where('id', '=', id)
    .execute();
}

/** Postpones a delivery until `nextAttemptAt`; if that is null, for good. */
export async function postponeDelivery(
  ctx: Storage,
  id: number,
  failure: string,
  nextAttemptAt: string | null,
): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
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
}

export function findDelivery(ctx: Storage, id: number): Promise<ListedDelivery | undefined> {
  return ctx.database.kysely.selectFrom('delivery').select(listedColumns).where('id', '=', id).executeTakeFirst();
}

/** The body, byte for byte. @throws AppError as `openBody` */
export async function findBody(ctx: Storage, id: number): Promise<Buffer | undefined> {
  const sealed = await ctx.database.kysely
    .selectFrom('delivery')
    .select(['install', 'bodySha256', 'body'])
    .where('id', '=', id)
    .executeTakeFirst();
  return sealed && openBody(ctx, sealed);
}

/** A page in the order of ids, for going through all deliveries. */
export function pageDeliveries(ctx: Storage, afterId: number, limit: number): Promise<PagedDelivery[]> {
  return ctx.database.kysely
    .selectFrom('delivery')
    .select(['id', 'install', 'bodySha256', 'body', 'nextAttemptAt'])
    .where('id', '>', afterId)
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Deletes the settled ones of them. @returns how many */
export async function removeDeliveries(ctx: Storage, ids: number[]): Promise<number> {
  return ids.length === 0 ? 0 : await deleteSettled(ctx.database, ids);
}

/**
 * Makes deliveries due again, whatever their state, except those whose body was not kept.
 * @returns which of them
 */
export async function replayDeliveriesIn(tx: Transaction, ids: readonly number[], now: string): Promise<number[]> {
  return ids.length === 0 ? [] : await makeDue(tx, now, (which) => which.and([which('id', 'in', ids), isKept]));
}

/** Makes failed deliveries due again. @returns which */
export function replayFailedDeliveries(tx: Transaction, now: string): Promise<number[]> {
  return makeDue(tx, now, isIn('failed'));
}

/** Makes deliveries due that an older reader could not read. @returns how many */
export async function replayUnreadDeliveries(ctx: Storage, now: string): Promise<number> {
  const isUnread: Condition = (which) =>
    which.and([isIn('unprocessable')(which), which('readerVersion', '<', readerVersion)]);
  return (await inTransaction(ctx.database, (tx) => makeDue(tx, now, isUnread))).length;
}

export async function countDueDeliveries(ctx: Storage): Promise<number> {
  const due = ctx.database.kysely.selectFrom('delivery').where('nextAttemptAt', 'is not', null);
  const { count } = await due.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
  return Number(count);
}

/** @throws AppError `unavailable` if nothing can be stored now */
export async function checkWritable(ctx: Storage): Promise<void> {
  ctx.database.checkFile?.();
  // A write, so that it fails when storing would fail: lock, disk or connection.
  await inTransaction(ctx.database, (tx) => writeSetting(tx, 'last_write_check', 'ok'), {
    patienceMs: 1000,
  });
}

function toRow(ctx: Storage, { delivery, read, bodyKey }: KeyedDelivery): AppendedRow {
  const { install, deliveryId, receivedAt, headers, body } = delivery;
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
    // Of an ignored delivery only the key is kept, which is enough to recognise a repeat.
    body: read.outcome === 'ignored' ? notKept : ctx.box.seal(body, bodyContext({ install, bodySha256: bodyKey })),
  };
}

const notKept = Buffer.alloc(0);

function toKeyed(delivery: NewDelivery): KeyedDelivery {
  const json = readJson(delivery.body);
  const bodyKey = toBodyKey(delivery.body, json);
  return { delivery, read: toReadEvent(json), bodyKey, key: deliveryKeyOf(delivery.install, bodyKey) };
}

/** A timeline finds the delivery by it. */
function subjectOf(read: ReadEvent): string | null {
  return read.outcome === 'event' ? (read.event.contract?.id ?? read.event.resourceId) : null;
}

function statusOf(read: ReadEvent): Appended['status'] {
  return read.outcome === 'event' ? 'accepted' : read.outcome;
}
