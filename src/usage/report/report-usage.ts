import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { holdLocks, releaseLocks } from '../../db/lock.ts';
import { concernsAll } from '../../domain/errors.ts';
import { outcomeOfRun, type RunOutcome } from '../../domain/run.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { chunksOf, mapAtOnce } from '../../lib/lists.ts';
import { maskText } from '../../lib/mask.ts';
import { closeSettledDays } from '../due/due-store.ts';
import { refreshDue } from '../due/refresh-due.ts';
import { firstOpenDay, reportTimeOf } from '../read/look-back.ts';
import { holdLowerings } from './ledger-store.ts';
import {
  countInstall,
  decideBrake,
  type LoweringBrake,
  listHeldOf,
  planDays,
  type ReportOptions,
  reportedOf,
} from './plan-install.ts';
import { holdLowered, type PlannedEntry, type ReportPlan } from './plan-report.ts';
import { type OnAnswer, type ReportRun, type SentEntries, sendUsage } from './send-usage.ts';

export interface InstallReport extends ReportCount {
  outcome: RunOutcome;
}

/** How far one install has been reported. */
interface ReportCount {
  install: string;
  /** Entries that were answered; `lowered` counts those that lowered a total. */
  sent: number;
  lowered: number;
  held: number;
  refused: number;
  left: number;
  requests: number;
  failure: string | null;
}

/** A slow install delays no other. */
const installsAtOnce = 4;
/** Contracts that are leased and planned together. */
const contractsAtOnce = 25;

/** Sends what is due, contract after contract, with one sender a contract. The next run sends what could not be sent. */
export async function reportUsage(
  ctx: Context,
  onAnswer: OnAnswer,
  wanted: ReportOptions,
  signal: AbortSignal,
  onProgress: () => void = () => undefined,
): Promise<InstallReport[]> {
  await refreshDue(ctx, signal, onProgress);
  const run = { ctx, onAnswer, wanted, signal };
  return await mapAtOnce(reportedOf(ctx, wanted.installs), installsAtOnce, (install) =>
    reportInstall(run, install, onProgress),
  );
}

async function reportInstall(run: ReportRun, install: string, onProgress: () => void): Promise<InstallReport> {
  const { ctx, wanted, signal } = run;
  const count = await countInstall(ctx, install, wanted);
  const brake = await decideBrake(ctx, install, count, wanted);
  const heldWork = (await listHeldOf(ctx, install, wanted)).length;
  const heldLowered = brake.isOff ? 0 : count.held + (brake.isOn ? count.lowered : 0);
  const report: ReportCount = {
    ...{ install, sent: 0, lowered: 0, requests: 0, failure: null, left: 0 },
    held: heldWork + heldLowered,
    refused: count.parked,
  };
  for (const contractIds of chunksOf(count.contractIds, contractsAtOnce)) {
    if (signal.aborted || report.failure !== null) break;
    report.left += await reportContracts(run, report, brake, contractIds);
    onProgress();
    await nextTurn();
  }
  if (signal.aborted || report.failure !== null) {
    // Some contracts were never begun.
    const counted = count.entries - heldLowered + count.parked;
    report.left = Math.max(report.left, counted - report.sent - report.refused);
  }
  await settleRun(run, report);
  const { sent, held, refused, left, failure } = report;
  const outcome = outcomeOfRun({ added: sent, removed: 0, held, failed: refused }, left);
  return { ...report, outcome: failure === null ? outcome : 'failed' };
}

async function settleRun({ ctx, wanted }: ReportRun, report: ReportCount): Promise<void> {
  const { metrics, logger } = ctx;
  const { install, sent, refused, left, requests, failure, held } = report;
  await inTransaction(ctx.database, (tx) => closeSettledDays(tx, install, firstOpenDay(reportTimeOf(ctx))));
  metrics.usageDays.inc({ install, outcome: 'answered' }, sent);
  metrics.usageDays.inc({ install, outcome: 'refused' }, refused);
  const isAll = [wanted.contractId, wanted.from, wanted.to].every((of) => of === undefined);
  if (isAll) metrics.usageHeld.set({ install }, held);
  logger.info({ install, contractId: wanted.contractId, sent, refused, left, requests, failure }, 'Usage was reported');
}

function addSent(report: ReportCount, { answered, refused, requests, failure }: SentEntries): void {
  report.requests += requests;
  report.sent += answered.length;
  report.lowered += answered.filter(({ lowers }) => lowers).length;
  report.refused += refused.length;
  if (failure !== null && concernsAll(failure)) report.failure = maskText(failure.message);
}

/**
 * Sends what is due on some contracts of an install, as planned again under the lease.
 *
 * @returns how many days are left, including those of other senders
 */
async function reportContracts(
  run: ReportRun,
  report: ReportCount,
  brake: LoweringBrake,
  contractIds: readonly string[],
): Promise<number> {
  const { ctx, wanted, signal } = run;
  const { install } = report;
  const lease = await takeLease(ctx, install, contractIds);
  try {
    await refreshDue(ctx, signal);
    let left = 0;
    const entries: PlannedEntry[] = [];
    for await (const plan of planDays(ctx, { install, contractIds, from: wanted.from, to: wanted.to })) {
      const isOurs = ({ contractId }: { contractId: string }) => lease.contractIds.has(contractId);
      left += plan.entries.filter((entry) => !isOurs(entry)).length;
      const ours = { ...plan, entries: plan.entries.filter(isOurs), risen: plan.risen.filter(isOurs) };
      entries.push(...(await applyBrake(ctx, ours, brake)));
    }
    left += entries.length;
    for (const [contractId, some] of Map.groupBy(entries, (entry) => entry.contractId)) {
      if (signal.aborted) return left;
      const sent = await sendUsage(run, { install, contractId }, some, lease.keep);
      left -= sent.answered.length + sent.refused.length;
      addSent(report, sent);
      if (report.failure !== null) return left;
    }
    return left;
  } finally {
    await lease.release();
  }
}

/** Stores which days are held, whatever the outcome of this run. @returns what may be sent */
async function applyBrake(
  ctx: Context,
  plan: Pick<ReportPlan, 'entries' | 'risen'>,
  brake: LoweringBrake,
): Promise<PlannedEntry[]> {
  const { entries, held } = brake.isOff ? { entries: plan.entries, held: [] } : holdLowered(plan.entries, brake.isOn);
  const isNew = held.filter(({ heldSince }) => heldSince === null);
  await holdLowerings(ctx, isNew, toInstant(ctx.clock.now()));
  await holdLowerings(ctx, plan.risen, null);
  // Days that would be lowered only since they were counted are left to the next run.
  return entries.filter((entry) => {
    if (!entry.isBraked || entry.heldSince !== null) return true;
    brake.allowance -= 1;
    return brake.allowance >= 0;
  });
}

const leaseMs = 120_000;
/** Long enough for one request with its retries. */
const neededMs = 90_000;

/** Keeps other senders from some contracts of an install. */
export async function takeLease(ctx: Context, install: string, contractIds: readonly string[]) {
  const token = randomUUID();
  const byName = new Map(
    contractIds.map((contractId) => [`usage:${JSON.stringify([install, contractId])}`, contractId]),
  );
  let leasedUntil = instantIn(ctx.clock, leaseMs);
  const held = await holdLocks(ctx.database, [...byName.keys()], token, toInstant(ctx.clock.now()), leasedUntil);
  return {
    /** The contracts that no other sender has. */
    contractIds: new Set([...held].flatMap((name) => byName.get(name) ?? [])),

    /** Call it before each request. @returns false if the lease has expired, so that others may have sent */
    async keep(): Promise<boolean> {
      const now = toInstant(ctx.clock.now());
      if (now >= leasedUntil) return false;
      if (instantIn(ctx.clock, neededMs) < leasedUntil) return true;
      const until = instantIn(ctx.clock, leaseMs);
      const kept = await holdLocks(ctx.database, [...held], token, now, until);
      leasedUntil = until;
      return kept.size === held.size;
    },

    release: () => releaseLocks(ctx.database, [...held], token),
  };
}
