import type { Context } from '../context.ts';
import { inTransaction } from '../db/database.ts';
import { toInstant } from '../lib/clock.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { maskText } from '../lib/mask.ts';
import { isTold, noticeRuleOf, sayInFull } from '../lib/troubles.ts';
import { announcementOf, announceOpen, endAlert, keepListed } from '../notify/alert-notices.ts';
import { aboutOf, type DeferralOf, digestOf, ruleOf } from '../notify/alert-rules.ts';
import { type FoundAlert, listOpenAlerts, lockAlertAgain, type StoredAlert } from '../notify/alert-store.ts';
import { listTroubles } from './list-troubles.ts';

const usualPollMs = 1000;
/** Notices go to people, so a quarter of a minute later is soon enough. */
const pollsPerBeat = 15;
const pageSize = 100;
/**
 * Code may raise an alert a moment before it commits the transaction with the trouble. A look in between would end the
 * alert.
 */
const settlesMs = 60_000;

/**
 * Compares the list of troubles with the open alerts, and sends the differences as notices. Every instance does, and
 * each trouble and its end are announced once.
 */
export function createAlertWorker(ctx: Context, deferralOf: DeferralOf): Loop {
  const { pollMs = usualPollMs } = ctx;
  return createLoop({
    ...ctx,
    name: 'alerts',
    intervalMs: pollMs * pollsPerBeat,
    async run(signal, beat) {
      await announceTroubles(ctx, deferralOf, signal, beat);
      return 'idle';
    },
  });
}

export async function announceTroubles(
  ctx: Context,
  deferralOf: DeferralOf,
  signal: AbortSignal,
  beat: () => void,
): Promise<void> {
  const at = toInstant(ctx.clock.now());
  const found = await findListed(ctx, at);
  for await (const row of openAlerts(ctx)) {
    if (signal.aborted) return;
    beat();
    if (!isTold(row.kind)) await askAlert(ctx, deferralOf, row);
    else if (found !== null) await compare(ctx, row, found.get(row.digest), at);
    found?.delete(row.digest);
  }
  const fresh = [...(found?.values() ?? [])].filter(({ isRipe }) => isRipe);
  for (const alert of fresh) if (!signal.aborted) await keepListed(ctx, alert);
}

async function* openAlerts(ctx: Context): AsyncGenerator<StoredAlert> {
  let after = 0;
  for (;;) {
    const page = await listOpenAlerts(ctx, { after, limit: pageSize });
    yield* page;
    if (page.length < pageSize) return;
    after = page.at(-1)?.id ?? after;
  }
}

interface ListedAlert extends FoundAlert {
  /** Whether it has lasted long enough to be announced. */
  isRipe: boolean;
}

/** By digest; null while no instance runs, because the list is incomplete then. */
async function findListed(ctx: Context, at: string): Promise<Map<string, ListedAlert> | null> {
  const troubles = await listTroubles(ctx);
  if (troubles.some(({ kind }) => kind === 'nothing_runs')) return null;
  const listed = troubles.flatMap((trouble): ListedAlert[] => {
    const { kind, install, tool, since, count, url, about } = trouble;
    if (!isTold(kind)) return [];
    const subject = { ...(install !== null && { install }), ...(tool !== null && { tool }), ...about };
    const { afterMs = 0 } = noticeRuleOf(kind) ?? {};
    const isRipe = since === null || Date.parse(at) - Date.parse(since) >= afterMs;
    const message = maskText(sayInFull(trouble)).slice(0, longestMessage).toWellFormed();
    const shown = aboutOf({ ...subject, url: url ?? undefined });
    return [{ kind, subject, digest: digestOf(kind, subject), scope: '{}', about: shown, message, count, at, isRipe }];
  });
  return new Map(listed.map((one) => [one.digest, one]));
}

const longestMessage = 500;

async function compare(ctx: Context, row: StoredAlert, alert: ListedAlert | undefined, at: string): Promise<void> {
  // Another instance has looked later.
  if (row.seenAt > at) return;
  if (alert === undefined) await endAlert(ctx, row);
  else if (announcementOf(ctx, row, alert.count) !== null) await keepListed(ctx, alert);
}

/** A check that fails is repeated at the next beat, and holds up no other alert. */
async function askAlert(ctx: Context, deferralOf: DeferralOf, row: StoredAlert): Promise<void> {
  try {
    if (await isOver(ctx, deferralOf, row)) await endAlert(ctx, row);
    else await remind(ctx, row);
  } catch (thrown) {
    ctx.logger.warn({ err: thrown, alert: row.kind }, 'Could not check whether an alert is over');
  }
}

async function isOver(ctx: Context, deferralOf: DeferralOf, { kind, subject, seenAt }: StoredAlert): Promise<boolean> {
  const rule = ruleOf(kind);
  if (rule?.isOpen === undefined) return false;
  if (ctx.clock.now().getTime() - Date.parse(seenAt) < settlesMs) return false;
  return !(await rule.isOpen(ctx, subject, { seenAt, deferralOf }));
}

/** Locks the row only if a reminder is due, which is rare. */
async function remind(ctx: Context, row: StoredAlert): Promise<void> {
  const { database, clock } = ctx;
  const { repeatMs } = ctx.config.notifications;
  const isRecent = Date.parse(toInstant(clock.now())) - Date.parse(row.announcedAt ?? '') < repeatMs;
  if (row.isAnnounced && isRecent) return;
  await inTransaction(database, async (tx) => {
    const current = await lockAlertAgain(ctx, tx, row.id);
    if (current?.overAt === null) await announceOpen(ctx, tx, current);
  });
}
