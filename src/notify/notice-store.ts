import type { Context } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import type { AlertNotice, BudgetNotice, NoticeTopic } from '../domain/notice.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import { gatherMsOf } from './channel.ts';

// The SQL that adds notices: in the transaction that found them, or not at all.

/** For each channel that takes budget notices; stores nothing where there is none. */
export async function addBudgetNotice(ctx: Context, tx: Transaction, notice: BudgetNotice): Promise<void> {
  const { kind, install, contractId, occurredAt, isRepeat, budget } = notice;
  const addressed = channelsFor(ctx, 'budgets');
  if (addressed.length === 0) return;
  const { id } = await tx
    .insertInto('notice')
    .values({ kind, install, contractId, occurredAt, isRepeat, budget: JSON.stringify(budget) })
    .returning('id')
    .executeTakeFirstOrThrow();
  await dispatch(ctx, tx, id, addressed);
}

/** For each channel that takes alerts, but not for a channel that the alert is about: it could not arrive there. */
export async function addAlertNotice(
  ctx: Context,
  tx: Transaction,
  { kind, occurredAt, isRepeat, ...alert }: AlertNotice,
): Promise<void> {
  const { about } = alert;
  const addressed = channelsFor(ctx, 'alerts').filter(({ name }) => name !== about['channel']);
  if (addressed.length === 0) return;
  const { id } = await tx
    .insertInto('notice')
    .values({
      kind,
      install: about['install'] ?? '',
      contractId: about['contract'] ?? '',
      occurredAt,
      isRepeat,
      budget: '{}',
      alert: JSON.stringify(alert),
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  await dispatch(ctx, tx, id, addressed);
}

interface AddressedChannel {
  name: string;
  /** How long a notice waits for others to share its message. */
  gatherMs: number;
}

function channelsFor({ config }: Context, topic: NoticeTopic): AddressedChannel[] {
  return [...config.notifications.channels].flatMap(([name, { type, tells }]) =>
    tells.includes(topic) ? [{ name, gatherMs: gatherMsOf[type] }] : [],
  );
}

async function dispatch(
  { clock }: Context,
  tx: Transaction,
  noticeId: number,
  addressed: readonly AddressedChannel[],
): Promise<void> {
  const createdAt = toInstant(clock.now());
  const dispatches = addressed.map(({ name, gatherMs }) => ({
    noticeId,
    channel: name,
    createdAt,
    nextAttemptAt: instantIn(clock, gatherMs),
  }));
  await tx.insertInto('dispatch').values(dispatches).execute();
}
