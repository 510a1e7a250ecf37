import { type Expression, type ExpressionBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { Storage } from '../context.ts';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { countRows, firstIdSince, hasRows, installsIn } from '../db/query.ts';
import type { Row, Tables } from '../db/schema.ts';
import { bodyContext } from '../db/seal-contexts.ts';
import { writeSetting } from '../db/setting-store.ts';
import { AppError } from '../domain/errors.ts';
import { turnsOf } from '../lib/turns.ts';
import { pendingAgain } from './append-store.ts';
import { type Condition, isIn, type ListedDelivery, listedColumns } from './delivery-list-store.ts';
import { readerVersion } from './event-schema.ts';

// The SQL of handling stored deliveries: which are due, how they are settled, and how they become due again.

export type DueDelivery = Pick<Row<'delivery'>, 'id' | 'install' | 'bodySha256' | 'receivedAt' | 'attempts' | 'body'>;

/** @param except installs whose deliveries are ignored */
export async function hasDueDeliveries(ctx: Storage, now: string, except?: ReadonlySet<string>): Promise<boolean> {
  const { installs } = await findDue(ctx.database, ctx.database.kysely, now);
  return installs.some((install) => !except?.has(install));
}

/**
 * Due deliveries. Installs take turns, and each install's oldest come first. Deliveries from before a silence wait
 * until their install has been read.
 */
export async function dueDeliveries(ctx: Storage, tx: Transaction, now: string, limit: number): Promise<DueDelivery[]> {
  const { installs, select } = await findDue(ctx.database, tx, now);
  return await turnsOf(ctx.database, 'inbox').take(installs, limit, (install, part) =>
    select(install).limit(part).execute(),
  );
}

/** The delivery with this id, if it is still due. */
export function dueDeliveryById(tx: Transaction, now: string, id: number): Promise<DueDelivery[]> {
  return selectDue(tx.selectFrom('delivery'), now).where('id', '=', id).execute();
}

/** The installs with due deliveries, and a query for those of one install, the oldest first. */
async function findDue({ dialect }: Database, db: Transaction, now: string) {
  const firstIds = await findFirstIds(db);
  const waiting = dialect === 'sqlite' ? selectByTurn(db) : db.selectFrom('delivery');
  const select = (install: string) =>
    selectDue(waiting, now)
      .where('install', '=', install)
      .where('id', '>=', firstIds.get(install) ?? 0)
      .orderBy('id');
  const installs: string[] = [];
  for (const install of await installsIn(db, 'delivery', { which: sql`next_attempt_at is not null` })) {
    if (await hasRows(select(install).clearSelect())) installs.push(install);
  }
  return { installs, select };
}

type Deliveries = SelectQueryBuilder<Tables, 'delivery', object>;

/** By default SQLite takes the index of all deliveries of an install, and reads through all that are handled. */
function selectByTurn(db: Transaction): Deliveries {
  const table = sql`delivery`.as<'delivery'>(sql`delivery indexed by delivery_turn`);
  return db.selectFrom(table) as unknown as Deliveries;
}

/** For each install on hold: the first delivery after the hold began, so that no older one is read. */
async function findFirstIds(db: Transaction): Promise<Map<string, number>> {
  const held = await db
    .selectFrom('installState')
    .select(['install', 'heldSince'])
    .where('heldSince', 'is not', null)
    .execute();
  const firstIds = new Map<string, number>();
  for (const { install, heldSince } of held) {
    firstIds.set(install, await firstIdSince(db, 'delivery', 'receivedAt', heldSince ?? ''));
  }
  return firstIds;
}

function selectDue(deliveries: Deliveries, now: string) {
  return deliveries.select(['id', 'install', 'bodySha256', 'receivedAt', 'attempts', 'body']).where(isDue(now));
}

function isDue(now: string) {
  return (eb: ExpressionBuilder<Tables, 'delivery'>): Expression<SqlBool> =>
    eb.and([
      // Both conditions are needed, so that both databases use the partial index.
      eb('delivery.nextAttemptAt', 'is not', null),
      eb('delivery.nextAttemptAt', '<=', now),
      eb.not(
        eb.exists(
          eb
            .selectFrom('installState')
            .select('installState.install')
            .whereRef('installState.install', '=', 'delivery.install')
            .whereRef('installState.heldSince', '>', 'delivery.receivedAt'),
        ),
      ),
    ]);
}

/** @throws AppError `not_found` if the body was not kept, `internal` if it cannot be decrypted */
export function openBody(
  ctx: Storage,
  { install, bodySha256, body }: Pick<Row<'delivery'>, 'install' | 'bodySha256' | 'body'>,
): Buffer {
  if (body.length === 0) {
    throw new AppError('not_found', 'The body was not kept: nothing uses events of this type');
  }
  return ctx.box.open(body, bodyContext({ install, bodySha256 }));
}

export async function settleDeliveries(
  tx: Transaction,
  ids: readonly number[],
  settled: Partial<Row<'delivery'>> = { state: 'handled', failure: null },
): Promise<void> {
  await tx
    .updateTable('delivery')
    .set({ nextAttemptAt: null, ...settled })
    .where('id', 'in', ids)
    .execute();
}

/** @param nextAttemptAt null to give the delivery up */
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

/** The body, byte for byte. @throws AppError like `openBody` */
export async function findBody(ctx: Storage, id: number): Promise<Buffer | undefined> {
  const sealed = await ctx.database.kysely
    .selectFrom('delivery')
    .select(['install', 'bodySha256', 'body'])
    .where('id', '=', id)
    .executeTakeFirst();
  return sealed && openBody(ctx, sealed);
}

export type PagedDelivery = Awaited<ReturnType<typeof pageDeliveries>>[number];

/** A page of all deliveries, in the order of their ids. */
export async function pageDeliveries(ctx: Storage, afterId: number, limit: number) {
  return await ctx.database.kysely
    .selectFrom('delivery')
    .select(['id', 'install', 'bodySha256', 'body', 'nextAttemptAt'])
    .where('id', '>', afterId)
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** A delivery without its body cannot be handled again. */
const isKept = sql<SqlBool>`octet_length(body) > 0`;

/** Makes deliveries due again, whatever their state, unless their body was not kept. @returns the ids of these */
export function replayDeliveriesIn(tx: Transaction, ids: readonly number[], now: string): Promise<number[]> {
  return makeDue(tx, now, (which) => which.and([which('id', 'in', ids), isKept]));
}

/** Makes failed deliveries due again. @returns their ids */
export function replayFailedDeliveries(tx: Transaction, now: string): Promise<number[]> {
  return makeDue(tx, now, isIn('failed'));
}

/** Makes deliveries due that an older version could not read. @returns how many */
export async function replayUnreadDeliveries(ctx: Storage, now: string): Promise<number> {
  const isUnread: Condition = (which) =>
    which.and([isIn('unprocessable')(which), which('readerVersion', '<', readerVersion)]);
  return (await inTransaction(ctx.database, (tx) => makeDue(tx, now, isUnread))).length;
}

/** @returns the ids of the deliveries that were made due */
async function makeDue(tx: Transaction, now: string, which: Condition): Promise<number[]> {
  const due = await tx.updateTable('delivery').set(pendingAgain(now)).where(which).returning('id').execute();
  return due.map(({ id }) => id).sort((a, b) => a - b);
}

export function countDueDeliveries(ctx: Storage): Promise<number> {
  return countRows(ctx.database.kysely.selectFrom('delivery').where('nextAttemptAt', 'is not', null));
}

/** @throws AppError `unavailable` if nothing can be stored now */
export async function checkWritable(ctx: Storage): Promise<void> {
  ctx.database.checkFile?.();
  // A write, because it fails whenever storing would: by a lock, the disk or the connection.
  await inTransaction(ctx.database, (tx) => writeSetting(tx, 'last_write_check', 'ok'), { patienceMs: 1000 });
}
