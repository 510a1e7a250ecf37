import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { keepSetting, raiseSetting, readSetting } from '../../db/setting-store.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { lastTick } from '../../lib/last-tick.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import { recountDue } from '../due/recount.ts';
import { refreshDue } from '../due/refresh-due.ts';
import { listWorkScopes } from '../read/find-scopes.ts';
import { countDueScopes, wantScopes } from '../read/scope-store.ts';
import { reportUsage } from './report-usage.ts';
import type { OnAnswer } from './send-usage.ts';

/** How long a tool that cannot be read delays the report of the others. */
const longestWaitMs = 10 * 60_000;
const stallMs = 60 * 60_000;

/**
 * On each tick of the schedule, has all work read and then reports what has changed. Once a day it works out anew what
 * is due.
 */
export function createReportWorker(ctx: Context, onAnswer: OnAnswer): Loop {
  const { logger, clock } = ctx;
  return createLoop({
    name: 'report-usage',
    pollMs: ctx.pollMs,
    logger,
    clock,
    stallMs,
    async run(signal, beat) {
      await wantTick(ctx);
      await refreshDue(ctx, signal, beat);
      await reportTick(ctx, onAnswer, signal, beat);
      return 'idle';
    },
  });
}

/** The first instance asks for the readings of a tick. Several missed ticks become one. */
async function wantTick(ctx: Context): Promise<void> {
  const { database, config, clock } = ctx;
  const now = clock.now();
  const tick = lastTick(config.usage.schedule, now);
  if ((await readSetting(database.kysely, 'usage_tick')) === tick) return;
  const all = [...(await listWorkScopes(ctx)).values()];
  const isFirst = await inTransaction(database, async (tx) => {
    await keepSetting(tx, 'usage_tick', tick);
    await keepSetting(tx, 'usage_reported_tick', tick);
    if (!(await raiseSetting(tx, 'usage_tick', tick))) return false;
    // In one transaction with the tick: otherwise another instance would find nothing due, and report old work.
    await wantScopes(tx, all, toInstant(now));
    return true;
  });
  if (isFirst) ctx.wake('work');
}

/** Reports once everything was read that can be; one instance does it. */
async function reportTick(ctx: Context, onAnswer: OnAnswer, signal: AbortSignal, beat: () => void): Promise<void> {
  const { database, installs, clock } = ctx;
  const { kysely } = database;
  const [wanted, reported] = [
    await readSetting(kysely, 'usage_tick'),
    await readSetting(kysely, 'usage_reported_tick'),
  ];
  if (wanted === undefined || reported === undefined || wanted <= reported) return;
  // Counted from the request and not from the tick, which may be long over after a pause.
  const dueSince = instantIn(clock, -longestWaitMs);
  if ((await countDueScopes(ctx, toInstant(clock.now()), dueSince)) > 0) return;
  const isOurs = await inTransaction(database, (tx) => raiseSetting(tx, 'usage_reported_tick', wanted));
  if (!isOurs) return;
  await reportUsage(ctx, onAnswer, { installs: [...installs.keys()] }, signal, beat);
  await recountTonight(ctx, wanted.slice(0, 10), signal, beat);
}

async function recountTonight(ctx: Context, day: string, signal: AbortSignal, beat: () => void): Promise<void> {
  const isFirst = await inTransaction(ctx.database, async (tx) => {
    await keepSetting(tx, 'usage_recounted_at', day);
    return await raiseSetting(tx, 'usage_recounted_at', day);
  });
  if (!isFirst) return;
  const wrong = await recountDue(ctx, signal, beat);
  if (wrong.length === 0) return;
  const days = wrong.reduce((sum, one) => sum + one.days.length, 0);
  ctx.alerts.raise('usage_miscounted', { trainers: wrong.length, days });
}
