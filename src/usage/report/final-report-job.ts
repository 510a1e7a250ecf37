import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import type { ContractKey } from '../../domain/evidence.ts';
import { type JobKind, soleJob } from '../../jobs/job.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { noteReported } from '../../removals/final-reading-store.ts';
import { listEngagements } from '../read/contract-source-store.ts';
import { scopeOfLink } from '../read/find-scopes.ts';
import { type FinalReport, nextFinalReport } from './final-report-store.ts';
import { type InstallReport, reportUsage } from './report-usage.ts';
import type { OnAnswer } from './send-usage.ts';

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
