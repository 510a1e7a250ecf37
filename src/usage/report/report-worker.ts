import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { keepSetting, raiseSetting, readSetting, writeSetting } from '../../db/setting-store.ts';
import type { ContractKey } from '../../domain/evidence.ts';
import { type JobKind, soleJob } from '../../jobs/job.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { lastTick } from '../../lib/days.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import { noteReported } from '../../removals/final-reading-store.ts';
import { isDeriving } from '../due/due-store.ts';
import { recountDue, refreshDue } from '../due/refresh-due.ts';
import { readNextScope } from '../read/read-scope.ts';
import {
  countDueScopes,
  keepScopes,
  type ListedScope,
  listEngagements,
  listScopes,
  listWorkScopes,
  scopeOfLink,
  wantScopes,
} from '../read/scope-store.ts';
import { nextFinalReport } from './ledger-store.ts';
import type { ReportOptions } from './plan-install.ts';
import { type InstallReport, reportUsage } from './report-usage.ts';
import type { OnAnswer } from './send-usage.ts';

/** How long a tool that cannot be read delays the report of the others. */
const longestWaitMs = 10 * 60_000;
const stallMs = 60 * 60_000;

/**
 * On each tick of the schedule it asks for all readings of work, and then reports what has changed. Each night it also
 * computes again what is due.
 */
export function createReportWorker(ctx: Context, onAnswer: OnAnswer): Loop {
  return createLoop({
    ...ctx,
    name: 'report-usage',
    stallMs,
    async run(signal, beat) {
      await wantTick(ctx);
      await refreshDue(ctx, signal, beat);
      await reportTick(ctx, onAnswer, signal, beat);
      return 'idle';
    },
  });
}

/** The first instance asks for the readings of a tick. Several missed ticks are one. */
async function wantTick(ctx: Context): Promise<void> {
  const { database, config, clock } = ctx;
  const now = clock.now();
  const tick = lastTick(config.usage.schedule, now);
  if ((await readSetting(database.kysely, 'usage_tick')) === tick) return;
  const all = await listWorkScopes(ctx);
  const isFirst = await inTransaction(database, async (tx) => {
    await keepSetting(tx, 'usage_tick', tick);
    await keepSetting(tx, 'usage_reported_tick', tick);
    if (!(await raiseSetting(tx, 'usage_tick', tick))) return false;
    await writeSetting(tx, 'usage_tick_at', toInstant(now));
    // In one transaction with the tick, or another instance would find no reading due and report old work.
    await wantScopes(tx, all, toInstant(now));
    return true;
  });
  if (isFirst) ctx.wake('jobs');
}

/** One instance reports, once everything was read that can be. */
async function reportTick(ctx: Context, onAnswer: OnAnswer, signal: AbortSignal, beat: () => void): Promise<void> {
  const { database, installs, clock } = ctx;
  const wanted = await readSetting(database.kysely, 'usage_tick');
  const reported = await readSetting(database.kysely, 'usage_reported_tick');
  if (wanted === undefined || reported === undefined || wanted <= reported) return;
  // From when the readings were asked for: after a pause the tick may be long past, and a reading be due for longer.
  const askedAt = await readSetting(database.kysely, 'usage_tick_at');
  const isPatient = askedAt !== undefined && askedAt > instantIn(clock, -longestWaitMs);
  if (isPatient && ((await countDueScopes(ctx, toInstant(clock.now()))) > 0 || (await isDeriving(ctx)))) return;
  const isOurs = await inTransaction(database, (tx) => raiseSetting(tx, 'usage_reported_tick', wanted));
  if (!isOurs) return;
  await reportUsage(ctx, onAnswer, { installs: [...installs.keys()] }, signal, beat);
  if (isPatient && (await isDeriving(ctx))) {
    // The schedules of readings and reports often tick together. What was left out is reported in a moment, and not at
    // the next tick.
    await inTransaction(database, (tx) => writeSetting(tx, 'usage_reported_tick', reported));
    return;
  }
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

const againMs = 60_000;
/** After this time, the work is left to the schedule. */
const longestMs = 60 * 60_000;

/**
 * Reports the contracts of a trainer in a group as soon as the final reading before their removal has ended. Work that
 * is seen later is left to the schedule.
 */
export function finalReportJob(onAnswer: OnAnswer): JobKind {
  return soleJob('final reports', async (ctx, _job, signal, hold) => {
    while (await reportNextFinal(ctx, onAnswer, signal)) await hold.renew();
    return againMs;
  });
}

/** @returns false if there is none */
export async function reportNextFinal(ctx: Context, onAnswer: OnAnswer, signal: AbortSignal): Promise<boolean> {
  const next = await nextFinalReport(ctx, toInstant(ctx.clock.now()));
  if (next !== undefined) await reportFinal(ctx, onAnswer, next, signal);
  return next !== undefined;
}

type FinalReport = NonNullable<Awaited<ReturnType<typeof nextFinalReport>>>;

async function reportFinal(ctx: Context, onAnswer: OnAnswer, next: FinalReport, signal: AbortSignal): Promise<void> {
  const { clock } = ctx;
  const reports: InstallReport[] = [];
  for (const { install, contractId } of await contractsOf(ctx, next)) {
    const wanted = { installs: [install], contractId };
    reports.push(...(await reportUsage(ctx, onAnswer, wanted, signal)));
  }
  const isDone = reports.every(({ left, failure }) => left === 0 && failure === null);
  const isLate = clock.now().getTime() - Date.parse(next.workSince) >= longestMs;
  const noted = isDone || isLate ? { reportedAt: toInstant(clock.now()) } : { reportAfter: instantIn(clock, againMs) };
  await inTransaction(ctx.database, (tx) => noteReported(tx, next, noted));
}

/** The past and present contracts of the trainer in that group. */
async function contractsOf(ctx: Context, { tool, groupId, trainerId }: FinalReport): Promise<ContractKey[]> {
  const contracts = new Map<string, ContractKey>();
  for (const engagement of await listEngagements(ctx.database, ctx.database.kysely, [trainerId])) {
    const at = scopeOfLink(ctx, engagement);
    if (at?.tool !== tool || at.groupId !== groupId) continue;
    const { install, contractId } = engagement;
    contracts.set(JSON.stringify([install, contractId]), { install, contractId });
  }
  return [...contracts.values()];
}

interface ReportPatience {
  /** The longest wait for the readings of the tools. */
  waitMs: number;
  signal: AbortSignal;
}

const lookEveryMs = 100;
const readsAtOnce = 4;

/**
 * Reads all work and reports it now. A running bridge may do a part of it.
 *
 * @returns also the scopes that could not be read. What was seen of them before is reported
 */
export async function reportNow(
  ctx: Context,
  onAnswer: OnAnswer,
  wanted: ReportOptions,
  patience: ReportPatience,
): Promise<{ installs: InstallReport[]; unread: ListedScope[] }> {
  const { clock } = ctx;
  const all = await listWorkScopes(ctx);
  const wantedAt = toInstant(clock.now());
  await keepScopes(ctx, all, wantedAt);
  await inTransaction(ctx.database, (tx) => wantScopes(tx, all, wantedAt));
  await Promise.all(Array.from({ length: readsAtOnce }, () => readAll(ctx, wantedAt, patience)));
  const unread = (await listScopes(ctx)).filter(({ nextReadAt, readBeganAt, goneSince, failingSince }) => {
    // Without `failingSince` no link leads to the scope any more.
    const isOver = goneSince !== null && failingSince === null;
    return nextReadAt !== null && (readBeganAt ?? '') < wantedAt && !isOver;
  });
  return { installs: await reportUsage(ctx, onAnswer, wanted, patience.signal), unread };
}

/** A failed reading is not repeated here: it is due later. */
async function readAll(ctx: Context, wantedAt: string, { waitMs, signal }: ReportPatience): Promise<void> {
  const deadline = instantIn(ctx.clock, waitMs);
  while (!signal.aborted && (await countDueScopes(ctx, wantedAt)) > 0) {
    if (await readNextScope(ctx, signal)) continue;
    if (toInstant(ctx.clock.now()) >= deadline) return;
    await wait(lookEveryMs, undefined, { signal }).catch(() => undefined);
  }
}
