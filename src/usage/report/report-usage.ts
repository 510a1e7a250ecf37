import type { Context } from '../../context.ts';
import { outcomeOfRun, type RunOutcome } from '../../domain/run.ts';
import { maskText } from '../../lib/mask.ts';
import { withSpan } from '../../lib/tracing.ts';
import { openDue } from '../attribute/load-due.ts';
import { countRun, decideBrake, type InstallCount, type LoweringBrake, type MarkedPart } from './count-run.ts';
import { type PartRun, reportPart } from './report-part.ts';
import type { ReportWanted } from './report-wanted.ts';
import { concernsInstall, type OnAnswer, type SentEntries } from './send-usage.ts';
import { openTroubles } from './trouble-alerts.ts';

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

/** One install while it is reported. */
interface OpenReport {
  report: InstallReport;
  brake: LoweringBrake;
  /** Days that were counted to be sent, or refused before. */
  counted: number;
}

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
  const due = await openDue(ctx);
  const troubles = openTroubles(ctx);
  const { installs, parts } = await countRun(ctx, due, wanted, { troubles, signal });
  const all: OpenReport[] = [];
  for (const [install, count] of installs) {
    all.push(openReport(install, count, await decideBrake(ctx, install, count, wanted)));
  }
  const run = { ctx, onAnswer, due, wanted, troubles, signal };
  for (const part of parts) {
    for (const one of all) {
      const attributes = { 'gangway.install': one.report.install };
      await withSpan('report usage', { parent: null, attributes }, () => reportOfInstall(run, one, part));
    }
    onProgress();
  }
  const isAll = [wanted.contractId, wanted.from, wanted.to].every((of) => of === undefined);
  for (const { report, counted } of all) {
    const isBroken = signal.aborted || report.failure !== null;
    // Then some parts were never begun.
    if (isBroken) report.left = Math.max(report.left, counted - report.sent - report.refused);
    note(ctx, report, isAll);
    // What other senders are at was not looked at.
    await troubles.raise(report.install, isAll && !isBroken && report.left === 0);
  }
  return all.map(({ report }) => ({ ...report, outcome: outcomeOf(report) }));
}

function openReport(install: string, count: InstallCount, brake: LoweringBrake): OpenReport {
  const { entries, lowered, held, parked, heldWork } = count;
  const heldNow = held + (brake.isOn ? lowered : 0);
  const heldLowered = brake.isOff ? 0 : heldNow;
  const report: InstallReport = {
    install,
    outcome: 'clean',
    sent: 0,
    lowered: 0,
    requests: 0,
    failure: null,
    held: heldWork + heldLowered,
    refused: parked,
    left: 0,
  };
  return { report, brake, counted: entries - heldLowered + parked };
}

async function reportOfInstall(run: PartRun, { report, brake }: OpenReport, part: MarkedPart): Promise<void> {
  if (run.signal.aborted || report.failure !== null || !part.contractIds.has(report.install)) return;
  const onSent = (sent: SentEntries) => {
    addSent(report, sent);
    return report.failure === null;
  };
  report.left += await reportPart(run, { install: report.install, brake, onSent }, part);
}

function addSent(report: InstallReport, { answered, refused, requests, failure }: SentEntries): void {
  report.requests += requests;
  report.sent += answered.length;
  report.lowered += answered.filter(({ lowers }) => lowers).length;
  report.refused += refused.length;
  if (failure !== null && concernsInstall(failure)) report.failure = maskText(failure.message);
}

/** @param isAll whether nothing of the install was left out */
function note({ metrics, logger }: Context, report: InstallReport, isAll: boolean): void {
  const { install, sent, refused, left, requests, failure, held } = report;
  metrics.usageDays.inc({ install, outcome: 'answered' }, sent);
  metrics.usageDays.inc({ install, outcome: 'refused' }, refused);
  if (isAll) metrics.usageHeld.set({ install }, held);
  logger.info({ install, sent, refused, left, requests, failure }, 'Usage was reported');
}

function outcomeOf({ sent, held, refused, left, failure }: InstallReport): RunOutcome {
  const numbers = { added: sent, removed: 0, held, failed: refused };
  return failure === null ? outcomeOfRun(numbers, left) : 'failed';
}
