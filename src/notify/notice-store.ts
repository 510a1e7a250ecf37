import type { Context, Storage } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { takeTurn } from '../db/lock.ts';
import { given } from '../db/query.ts';
import type { Row } from '../db/schema.ts';
import type {
  AlertNotice,
  BudgetFacts,
  BudgetKind,
  BudgetNotice,
  DispatchState,
  NewNotice,
  NoticeTopic,
} from '../domain/notice.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import type { Message } from './channels.ts';

// The SQL of notices. A claim is a lease with a token, and gives the message its id for good: an instance that lost the
// lease settles nothing, and the next one sends the same message.

/** For each channel that takes budget notices. Without one, nothing is stored. */
export async function addBudgetNotice(ctx: Context, tx: Transaction, notice: BudgetNotice): Promise<void> {
  const addressed = channelsFor(ctx, 'budgets');
  await add(ctx, tx, addressed, { ...notice, budget: JSON.stringify(notice.budget), alert: null });
}

/** For each channel that takes alerts, but not for a channel that the alert is about: it could not arrive there. */
export async function addAlertNotice(
  ctx: Context,
  tx: Transaction,
  { kind, occurredAt, isRepeat, ...alert }: AlertNotice,
): Promise<void> {
  const { channel, install = '', contract: contractId = '' } = alert.about;
  const addressed = channelsFor(ctx, 'alerts').filter(({ name }) => name !== channel);
  const row = { kind, install, contractId, occurredAt, isRepeat, budget: '{}', alert: JSON.stringify(alert) };
  await add(ctx, tx, addressed, row);
}

interface AddressedChannel {
  name: string;
  type: keyof typeof gatherMsOf;
}

/** How long a notice waits for others to share its message. */
const gatherMsOf = { webhook: 0, slack: 60_000, mail: 60_000 };

function channelsFor({ config }: Context, topic: NoticeTopic): AddressedChannel[] {
  const channels = [...config.notifications.channels];
  return channels.filter(([, { tells }]) => tells.includes(topic)).map(([name, { type }]) => ({ name, type }));
}

async function add(
  { clock }: Context,
  tx: Transaction,
  addressed: readonly AddressedChannel[],
  row: StoredNotice,
): Promise<void> {
  if (addressed.length === 0) return;
  const { id: noticeId } = await tx.insertInto('notice').values(row).returning('id').executeTakeFirstOrThrow();
  const createdAt = toInstant(clock.now());
  const dispatches = addressed.map(({ name: channel, type }) => {
    return { noticeId, channel, createdAt, nextAttemptAt: instantIn(clock, gatherMsOf[type]) };
  });
  await tx.insertInto('dispatch').values(dispatches).execute();
}

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

/** The message that is due in a channel; null if none is. */
export async function claimDispatch(ctx: Storage, order: DispatchOrder): Promise<DispatchClaim | null> {
  // Mostly there is none, and then no other writer is blocked.
  if ((await findDue(ctx.database.kysely, order)) === undefined) return null;
  // Durable: after a power cut it would be sent again with another id.
  return await inTransaction(ctx.database, (tx) => claimOne(ctx, tx, order), { isDurable: true });
}

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
  const ids = claimed.map((row) => row.id);
  const notices = await selectWithNotice(tx).where('dispatch.id', 'in', ids).orderBy('dispatch.id').execute();
  return {
    id,
    token: order.token,
    attempts: Math.max(...claimed.map(({ attempts }) => attempts)),
    createdAt: claimed.map(({ createdAt }) => createdAt).sort()[0] ?? order.now,
    notices: notices.map(toNotice),
  };
}

/** All notices of a message that has an id; otherwise those that wait, due or not, the oldest first. */
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

/** Without a next attempt there is nothing left to do. */
export interface Settlement extends Pick<Row<'dispatch'>, 'state' | 'nextAttemptAt' | 'failure'> {
  now: string;
}

/** @returns whether the claim still held */
export async function settleDispatch(
  ctx: Storage,
  { token }: Pick<DispatchClaim, 'token'>,
  { now, ...settlement }: Settlement,
): Promise<boolean> {
  const settledAt = settlement.nextAttemptAt === null ? now : null;
  const write = (tx: Transaction) =>
    tx
      .updateTable('dispatch')
      .set({ ...settlement, settledAt, leaseToken: null })
      .where('leaseToken', '=', token)
      .executeTakeFirst();
  // Durable: after a power cut it would be sent again.
  const { numUpdatedRows } = await inTransaction(ctx.database, write, { isDurable: true });
  return numUpdatedRows > 0n;
}

/** Gives up dispatches that were due before `overdueSince`, and whose channel is none of these. @returns their channels */
export async function endUnconfiguredDispatches(
  ctx: Storage,
  channels: readonly string[],
  overdueSince: string,
  now: string,
): Promise<string[]> {
  const ended = await inTransaction(ctx.database, (tx) => {
    const query = tx
      .updateTable('dispatch')
      .set({ state: 'failed', nextAttemptAt: null, settledAt: now, leaseToken: null })
      .set({ failure: 'the channel is no longer configured' })
      .where('nextAttemptAt', '<=', overdueSince);
    const others = channels.length === 0 ? query : query.where('channel', 'not in', channels);
    return others.returning('channel').execute();
  });
  return ended.map(({ channel }) => channel);
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

/** How many dispatches of each channel failed, and will be tried again. */
export function countTroubledDispatches(ctx: Storage): Promise<{ channel: string; count: number }[]> {
  return ctx.database.kysely
    .selectFrom('dispatch')
    .select((eb) => ['channel', eb.fn.countAll<number>().as('count')])
    .where('nextAttemptAt', 'is not', null)
    .where('failure', 'is not', null)
    .groupBy('channel')
    .orderBy('channel')
    .execute();
}

export interface DispatchFilter {
  state?: DispatchState | undefined;
  /** Only those with a smaller id: the page before one that was listed. */
  before?: number | undefined;
  limit: number;
}

/** The newest first. */
export async function listDispatches(ctx: Storage, { state, before, limit }: DispatchFilter) {
  let query = selectWithNotice(ctx.database.kysely)
    .select(['dispatch.id', 'channel', 'state', 'messageId', 'attempts'])
    .select(['nextAttemptAt', 'failure', 'createdAt', 'settledAt'])
    .where((eb) => eb.and(given({ state })));
  if (before !== undefined) query = query.where('dispatch.id', '<', before);
  const rows = await query.orderBy('dispatch.id', 'desc').limit(limit).execute();
  return rows.map(({ kind, install, contractId, occurredAt, isRepeat, budget, alert, ...dispatch }) => {
    return { ...dispatch, ...toNotice({ kind, install, contractId, occurredAt, isRepeat, budget, alert }) };
  });
}

function selectWithNotice(tx: Transaction) {
  return tx
    .selectFrom('dispatch')
    .innerJoin('notice', 'notice.id', 'dispatch.noticeId')
    .select(['kind', 'install', 'contractId', 'occurredAt', 'isRepeat', 'budget', 'alert']);
}

type StoredNotice = Omit<Row<'notice'>, 'id'>;

function toNotice({ kind, install, contractId, occurredAt, isRepeat, budget, alert }: StoredNotice): NewNotice {
  if (alert !== null) {
    const said = JSON.parse(alert) as Omit<AlertNotice, 'kind' | 'isRepeat' | 'occurredAt'>;
    return { ...said, kind: kind as AlertNotice['kind'], isRepeat, occurredAt };
  }
  const facts = JSON.parse(budget) as BudgetFacts;
  return { kind: kind as BudgetKind, install, contractId, occurredAt, isRepeat, budget: facts };
}
