import type { Context } from '../context.ts';
import { inTransaction } from '../db/database.ts';
import { toInstant } from '../lib/clock.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { announceStanding, endAlert } from './alert-notices.ts';
import { type DeferralOf, ruleOf } from './alert-rules.ts';
import { listStandingAlerts, lockAlertAgain, type StoredAlert } from './alert-store.ts';

const usualPollMs = 1000;
/** A notice goes to people: a quarter of a minute later is soon enough, and one query when nothing stands. */
const pollsPerBeat = 15;
const pageSize = 100;
/**
 * An alert may be raised a moment before the transaction that stores its trouble is committed. Context that early, it
 * would be over.
 */
const settlesMs = 60_000;

/** Asks of every alert that stands whether its trouble still does. Any instance may; one of them says that it is over. */
export function createAlertWorker(ctx: Context, deferralOf: DeferralOf): Loop {
  const { logger, clock, pollMs = usualPollMs } = ctx;
  return createLoop({
    name: 'alerts',
    intervalMs: pollMs * pollsPerBeat,
    logger,
    clock,
    async run(signal, beat) {
      await askAlerts(ctx, deferralOf, signal, beat);
      return 'idle';
    },
  });
}

export async function askAlerts(
  ctx: Context,
  deferralOf: DeferralOf,
  signal: AbortSignal,
  beat: () => void,
): Promise<void> {
  let after = 0;
  while (!signal.aborted) {
    const page = await listStandingAlerts(ctx, { after, limit: pageSize });
    for (const row of page) {
      if (signal.aborted) return;
      await askAlert(ctx, deferralOf, row);
    }
    beat();
    if (page.length < pageSize) return;
    after = page.at(-1)?.id ?? after;
  }
}

/** A question that fails is asked again at the next beat, and the other alerts do not wait for it. */
async function askAlert(ctx: Context, deferralOf: DeferralOf, row: StoredAlert): Promise<void> {
  try {
    if (await isOver(ctx, deferralOf, row)) await endAlert(ctx, row);
    else await remind(ctx, row);
  } catch (thrown) {
    ctx.logger.warn({ err: thrown, alert: row.kind }, 'It could not be asked whether an alert is over');
  }
}

async function isOver(ctx: Context, deferralOf: DeferralOf, { kind, subject, seenAt }: StoredAlert): Promise<boolean> {
  const rule = ruleOf(kind);
  if (rule?.stands === undefined) return false;
  if (ctx.clock.now().getTime() - Date.parse(seenAt) < settlesMs) return false;
  return !(await rule.stands(ctx, subject, { seenAt, deferralOf }));
}

/** Mostly nothing is due, and then no row is locked. */
async function remind(ctx: Context, row: StoredAlert): Promise<void> {
  const { database, clock } = ctx;
  const { repeatMs } = ctx.config.notifications;
  const isRecent = Date.parse(toInstant(clock.now())) - Date.parse(row.announcedAt ?? '') < repeatMs;
  if (row.isAnnounced && isRecent) return;
  await inTransaction(database, async (tx) => {
    const current = await lockAlertAgain(ctx, tx, row.id);
    if (current?.overAt === null) await announceStanding(ctx, tx, current);
  });
}
