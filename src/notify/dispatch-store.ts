import type { Storage } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { takeTurn } from '../db/lock.ts';
import type {
  AlertNotice,
  BudgetFacts,
  BudgetKind,
  BudgetNotice,
  DispatchState,
  NewNotice,
  NoticeKind,
} from '../domain/notice.ts';
import type { Message } from './channel.ts';

// The SQL of notices that are being sent. A claim is a lease with a token, and gives the message its id for good: an
// instance that lost the lease settles nothing, and the next one sends the same message.

export interface DispatchOrder {
  channel: string;
  token: string;
  now: string;
  leasedUntil: string;
  /** The id for a message that has none yet. */
  newMessageId: string;
  maxNotices: number;
}

export interface DispatchClaim extends Message {
  token: string;
  /** Including this one. */
  attempts: number;
}

export interface Settlement {
  state: DispatchState;
  now: string;
  /** Null where there is nothing left to do. */
  nextAttemptAt: string | null;
  failure: string | null;
}

export interface ChannelCount {
  channel: string;
  count: number;
}

export interface DispatchFilter {
  state?: DispatchState | undefined;
  /** Only those with a smaller id: the page before one that was listed. */
  before?: number | undefined;
  limit: number;
}

/** The message that is due in a channel; null where none is. */
export async function claimDispatch(ctx: Storage, order: DispatchOrder): Promise<DispatchClaim | null> {
  // Mostly there is none, and then no other writer is blocked.
  if ((await findDue(ctx.database.kysely, order)) === undefined) return null;
  // Durable: after a power cut it would be sent again with another id.
  const write = (tx: Transaction) => claimOne(ctx, tx, order);
  return await inTransaction(ctx.database, write, { isDurable: true });
}

/** @returns whether the claim still held */
export async function settleDispatch(
  ctx: Storage,
  { token }: Pick<DispatchClaim, 'token'>,
  { state, now, nextAttemptAt, failure }: Settlement,
): Promise<boolean> {
  const settledAt = nextAttemptAt === null ? now : null;
  const write = (tx: Transaction) =>
    tx
      .updateTable('dispatch')
      .set({ state, nextAttemptAt, failure, settledAt, leaseToken: null })
      .where('leaseToken', '=', token)
      .executeTakeFirst();
  // Durable: after a power cut it would be sent again.
  const { numUpdatedRows } = await inTransaction(ctx.database, write, { isDurable: true });
  return numUpdatedRows > 0n;
}

/** Ends dispatches that are older than `overdueSince` and whose channel is none of these. */
export async function endUnconfiguredDispatches(
  ctx: Storage,
  channels: readonly string[],
  overdueSince: string,
  now: string,
): Promise<ChannelCount[]> {
  const ended = await inTransaction(ctx.database, (tx) => {
    const query = tx
      .updateTable('dispatch')
      .set({ state: 'failed', nextAttemptAt: null, settledAt: now, leaseToken: null })
      .set({ failure: 'the channel is no longer configured' })
      .where('nextAttemptAt', '<=', overdueSince);
    const others = channels.length === 0 ? query : query.where('channel', 'not in', channels);
    return others.returning('channel').execute();
  });
  const byChannel = Map.groupBy(ended, ({ channel }) => channel);
  return [...byChannel].map(([channel, rows]) => ({ channel, count: rows.length }));
}

/** Deletes up to `limit` that were settled before `before`. @returns how many */
export async function purgeDispatches(ctx: Storage, before: string, limit: number): Promise<number> {
  const old = await ctx.database.kysely
    .selectFrom('dispatch')
    .select(['id', 'noticeId'])
    .where('settledAt', '<', before)
    .orderBy('settledAt')
    .limit(limit)
    .execute();
  if (old.length > 0) await inTransaction(ctx.database, (tx) => deleteAll(tx, old));
  return old.length;
}

/** Dispatches that were tried and did not arrive yet. */
export async function countTroubledDispatches(ctx: Storage): Promise<ChannelCount[]> {
  const rows = await ctx.database.kysely
    .selectFrom('dispatch')
    .select((eb) => ['channel', eb.fn.countAll<number>().as('count')])
    .where('nextAttemptAt', 'is not', null)
    .where('failure', 'is not', null)
    .groupBy('channel')
    .orderBy('channel')
    .execute();
  return rows.map(({ channel, count }) => ({ channel, count: Number(count) }));
}

/** The newest first. */
export async function listDispatches(
  ctx: Storage,
  { state, before, limit }: DispatchFilter,
): Promise<ListedDispatch[]> {
  let query = selectWithNotice(ctx.database.kysely)
    .select(['dispatch.id', 'channel', 'state', 'messageId', 'attempts'])
    .select(['nextAttemptAt', 'failure', 'createdAt', 'settledAt']);
  if (state !== undefined) query = query.where('state', '=', state);
  if (before !== undefined) query = query.where('dispatch.id', '<', before);
  const rows = await query.orderBy('dispatch.id', 'desc').limit(limit).execute();
  return rows.map(toListed);
}

function toListed({ budget, alert, isRepeat, install, contractId, ...row }: ListedRow): ListedDispatch {
  return { ...row, ...toNotice({ ...row, budget, alert, isRepeat, install, contractId }) };
}

type ListedRow = StoredNotice & Omit<ListedDispatch, keyof NewNotice>;

export type ListedDispatch = NewNotice & {
  id: number;
  channel: string;
  state: DispatchState;
  messageId: string | null;
  attempts: number;
  nextAttemptAt: string | null;
  failure: string | null;
  createdAt: string;
  settledAt: string | null;
};

async function findDue(tx: Transaction, { channel, now }: DispatchOrder) {
  return await tx
    .selectFrom('dispatch')
    .select(['id', 'messageId'])
    .where('channel', '=', channel)
    .where('nextAttemptAt', '<=', now)
    .orderBy('nextAttemptAt')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
}

async function claimOne(ctx: Storage, tx: Transaction, order: DispatchOrder): Promise<DispatchClaim | null> {
  // Without it, two instances at the same time would each take a part of one message.
  await takeTurn(ctx.database, tx, `notify ${order.channel}`);
  const first = await findDue(tx, order);
  if (first === undefined) return null;
  const together = await findTogether(tx, order, first.messageId);
  // It was for a channel of another type, and no longer fits into one message.
  const isParted = together.length > order.maxNotices;
  const id = (isParted ? null : first.messageId) ?? order.newMessageId;
  const claimed = await tx
    .updateTable('dispatch')
    .set((eb) => ({ attempts: eb('attempts', '+', 1), nextAttemptAt: order.leasedUntil }))
    .set({ messageId: id, leaseToken: order.token })
    .where('id', 'in', together.slice(0, order.maxNotices))
    // Another instance, whose lease had run out, has just settled it.
    .where('nextAttemptAt', 'is not', null)
    .returning(['id', 'attempts', 'createdAt'])
    .execute();
  if (claimed.length === 0) return null;
  return {
    id,
    token: order.token,
    attempts: Math.max(...claimed.map((row) => row.attempts)),
    createdAt: claimed.map((row) => row.createdAt).sort()[0] ?? order.now,
    notices: await findNotices(
      tx,
      claimed.map((row) => row.id),
    ),
  };
}

/** All notices of a message that has an id; else those that wait, due or not, the oldest first. */
async function findTogether(
  tx: Transaction,
  { channel, maxNotices }: DispatchOrder,
  messageId: string | null,
): Promise<number[]> {
  const rows = await tx
    .selectFrom('dispatch')
    .select('id')
    .where('channel', '=', channel)
    .where('nextAttemptAt', 'is not', null)
    .where('messageId', messageId === null ? 'is' : '=', messageId)
    .orderBy('nextAttemptAt')
    .orderBy('id')
    .limit(maxNotices + 1)
    .execute();
  return rows.map(({ id }) => id);
}

async function findNotices(tx: Transaction, ids: number[]): Promise<NewNotice[]> {
  const query = selectWithNotice(tx).where('dispatch.id', 'in', ids).orderBy('dispatch.id');
  return (await query.execute()).map(toNotice);
}

function selectWithNotice(tx: Transaction) {
  return tx
    .selectFrom('dispatch')
    .innerJoin('notice', 'notice.id', 'dispatch.noticeId')
    .select(['kind', 'install', 'contractId', 'occurredAt', 'isRepeat', 'budget', 'alert']);
}

interface StoredNotice extends Omit<BudgetNotice, 'kind' | 'isRepeat' | 'budget'> {
  kind: NoticeKind;
  isRepeat: boolean;
  budget: string;
  alert: string | null;
}

function toNotice({ kind, install, contractId, occurredAt, ...rest }: StoredNotice): NewNotice {
  if (rest.alert !== null) {
    const said = JSON.parse(rest.alert) as Omit<AlertNotice, 'kind' | 'isRepeat' | 'occurredAt'>;
    return { ...said, kind: kind as AlertNotice['kind'], isRepeat: rest.isRepeat, occurredAt };
  }
  return {
    kind: kind as BudgetKind,
    install,
    contractId,
    occurredAt,
    isRepeat: rest.isRepeat,
    budget: JSON.parse(rest.budget) as BudgetFacts,
  };
}

async function deleteAll(tx: Transaction, old: { id: number; noticeId: number }[]): Promise<void> {
  const ids = old.map(({ id }) => id);
  await tx.deleteFrom('dispatch').where('id', 'in', ids).execute();
  // A notice is deleted with the last of its dispatches.
  await tx
    .deleteFrom('notice')
    .where('id', 'in', [...new Set(old.map(({ noticeId }) => noticeId))])
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('dispatch').select('dispatch.id').whereRef('dispatch.noticeId', '=', 'notice.id'))),
    )
    .execute();
}
