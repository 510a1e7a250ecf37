import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { keepSetting, raiseSetting, readSetting } from '../../db/setting-store.ts';
import type { ContractKey } from '../../domain/evidence.ts';
import { type JobKind, soleJob } from '../../jobs/job.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { lastTick } from '../../lib/last-tick.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import { noteReported } from '../../removals/final-reading-store.ts';
import { recountDue, refreshDue } from '../due/refresh-due.ts';
import { readNextScope } from '../read/read-scope.ts';
import {
  countDueScopes,
  keepScopes,
  type ListedScope,
  listEngagements,
  listScopes,
  listWorkScopes,
  type ScopeTrouble,
  scopeOfLink,
  wantScopes,
} from '../read/scope-store.ts';
import { type FinalReport, nextFinalReport } from './ledger-store.ts';
import type { ReportWanted } from './plan-install.ts';
import { type InstallReport, reportUsage } from './report-usage.ts';
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

const againMs = 60_000;
/** After this time the schedule reports the work. */
const longestMs = 60 * 60_000;

/**
 * Reports a final reading as soon as it has ended: all contracts that the trainer worked on in that group. What is
 * seen later is reported by the schedule.
 */
export function finalReportJob(onAnswer: OnAnswer): JobKind {
  return soleJob('final reports', async (ctx, _job, signal, hold) => {
    while (await reportNextFinal(ctx, onAnswer, signal)) await hold.renew();
    return againMs;
  });
}

/** @returns false where there is none. Several processes may report it: only one of them sends for a contract. */
export async function reportNextFinal(ctx: Context, onAnswer: OnAnswer, signal: AbortSignal): Promise<boolean> {
  const next = await nextFinalReport(ctx, toInstant(ctx.clock.now()));
  if (next !== undefined) await reportFinal(ctx, onAnswer, next, signal);
  return next !== undefined;
}

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

/** The contracts on which the trainer worked in that group, past or present. */
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
 * Reads all work and reports it now: alone, or beside a bridge that may take part of it.
 *
 * @returns also the scopes that could not be read this time. What was seen of them before is reported
 */
export async function reportNow(
  ctx: Context,
  onAnswer: OnAnswer,
  wanted: ReportWanted,
  patience: ReportPatience,
): Promise<{ installs: InstallReport[]; unread: ListedScope[] }> {
  const { clock } = ctx;
  const all = await listWorkScopes(ctx);
  const wantedAt = toInstant(clock.now());
  await keepScopes(ctx, [...all.values()], wantedAt);
  await inTransaction(ctx.database, (tx) => wantScopes(tx, [...all.values()], wantedAt));
  await Promise.all(Array.from({ length: readsAtOnce }, () => readAll(ctx, wantedAt, patience)));
  const unread = (await listScopes(ctx)).filter(
    ({ nextReadAt, readBeganAt, ...workScope }) =>
      nextReadAt !== null && (readBeganAt === null || readBeganAt < wantedAt) && !isOver(workScope),
  );
  return { installs: await reportUsage(ctx, onAnswer, wanted, patience.signal), unread };
}

/** The scope is gone, and no link leads to it any more. */
function isOver({ goneSince, failingSince }: ScopeTrouble): boolean {
  return goneSince !== null && failingSince === null;
}

/** A failed reading is not repeated here: it becomes due later, or a bridge repeats it. */
async function readAll(ctx: Context, wantedAt: string, { waitMs, signal }: ReportPatience): Promise<void> {
  const { clock } = ctx;
  const deadline = instantIn(clock, waitMs);
  while (!signal.aborted && (await countDueScopes(ctx, wantedAt)) > 0) {
    if (await readNextScope(ctx, signal)) continue;
    if (toInstant(clock.now()) >= deadline) return;
    await wait(lookEveryMs, undefined, { signal }).catch(() => undefined);
  }
}
