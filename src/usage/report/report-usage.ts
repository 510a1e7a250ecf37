import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { concernsAll } from '../../domain/errors.ts';
import { outcomeOfRun, type RunOutcome } from '../../domain/run.ts';
import { chunksOf, mapAtOnce } from '../../lib/lists.ts';
import { maskText } from '../../lib/mask.ts';
import { closeSettledDays } from '../due/due-store.ts';
import { refreshDue } from '../due/refresh-due.ts';
import { firstOpenDay, reportTimeOf } from '../read/look-back.ts';
import { countInstall, decideBrake, listHeldOf, type ReportWanted, reportedOf } from './plan-install.ts';
import { reportContracts } from './report-contracts.ts';
import type { OnAnswer, ReportRun, SentEntries } from './send-usage.ts';

/** The outcome of reporting one install. */
export interface InstallReport {
  install: string;
  outcome: RunOutcome;
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
/** So many contracts are planned together, once no other sender can be at them. */
const contractsAtOnce = 25;

/**
 * Sends what is due, contract after contract. Only one sender at a time works on a contract. The next run sends what
 * could not be sent.
 */
export async function reportUsage(
  ctx: Context,
  onAnswer: OnAnswer,
  wanted: ReportWanted,
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
  const report: Omit<InstallReport, 'outcome'> = {
    install,
    sent: 0,
    lowered: 0,
    requests: 0,
    failure: null,
    held: heldWork + heldLowered,
    refused: count.parked,
    left: 0,
  };
  const onSent = (sent: SentEntries) => {
    addSent(report, sent);
    return report.failure === null;
  };
  for (const contractIds of chunksOf(count.contractIds, contractsAtOnce)) {
    if (signal.aborted || report.failure !== null) break;
    report.left += await reportContracts(run, { install, brake, onSent }, contractIds);
    onProgress();
    await nextTurn();
  }
  // Then some contracts were never begun.
  const isBroken = signal.aborted || report.failure !== null;
  const counted = count.entries - heldLowered + count.parked;
  if (isBroken) report.left = Math.max(report.left, counted - report.sent - report.refused);
  await settleRun(run, report);
  return { ...report, outcome: outcomeOf(report) };
}

async function settleRun({ ctx, wanted }: ReportRun, report: Omit<InstallReport, 'outcome'>): Promise<void> {
  const { metrics, logger } = ctx;
  const { install, sent, refused, left, requests, failure, held } = report;
  await inTransaction(ctx.database, (tx) => closeSettledDays(tx, install, firstOpenDay(reportTimeOf(ctx))));
  metrics.usageDays.inc({ install, outcome: 'answered' }, sent);
  metrics.usageDays.inc({ install, outcome: 'refused' }, refused);
  const isAll = [wanted.contractId, wanted.from, wanted.to].every((of) => of === undefined);
  if (isAll) metrics.usageHeld.set({ install }, held);
  logger.info({ install, sent, refused, left, requests, failure }, 'Usage was reported');
}

function addSent(report: Omit<InstallReport, 'outcome'>, { answered, refused, requests, failure }: SentEntries): void {
  report.requests += requests;
  report.sent += answered.length;
  report.lowered += answered.filter(({ lowers }) => lowers).length;
  report.refused += refused.length;
  if (failure !== null && concernsAll(failure)) report.failure = maskText(failure.message);
}

function outcomeOf({ sent, held, refused, left, failure }: Omit<InstallReport, 'outcome'>): RunOutcome {
  const numbers = { added: sent, removed: 0, held, failed: refused };
  return failure === null ? outcomeOfRun(numbers, left) : 'failed';
}
