import { randomUUID } from 'node:crypto';
import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { holdLock, releaseLock } from '../../db/lock-store.ts';
import type { ContractKey } from '../../domain/evidence.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import { noteReported } from '../../removals/final-reading-store.ts';
import { listEngagements } from '../read/contract-source-store.ts';
import { scopeOfLink } from '../read/find-scopes.ts';
import { type FinalReport, nextFinalReport } from './final-report-store.ts';
import { type InstallReport, reportUsage } from './report-usage.ts';
import type { OnAnswer } from './send-usage.ts';

const leaseMs = 5 * 60_000;
const againMs = 60_000;
/** After this time the schedule reports the work. */
const longestMs = 60 * 60_000;

/**
 * Reports a final reading as soon as it has ended: all contracts that the trainer worked on in that group. What is
 * seen later is reported by the schedule.
 */
export function createFinalReportWorker(ctx: Context, onAnswer: OnAnswer): Loop {
  const { logger, clock } = ctx;
  return createLoop({
    name: 'report-final-usage',
    pollMs: ctx.pollMs,
    logger,
    clock,
    run: async (signal) => ((await reportNextFinal(ctx, onAnswer, signal)) ? 'more' : 'idle'),
  });
}

/** @returns false where there is none, or another instance reports it */
export async function reportNextFinal(ctx: Context, onAnswer: OnAnswer, signal: AbortSignal): Promise<boolean> {
  const { clock } = ctx;
  const now = toInstant(clock.now());
  const next = await nextFinalReport(ctx, now);
  if (next === undefined) return false;
  const [name, token] = [`usage-final:${next.membershipId}`, randomUUID()];
  // One of several instances reports it. After a crash another one does, when the lease has run out.
  if (!(await holdLock(ctx.database, name, token, now, instantIn(clock, leaseMs)))) return false;
  try {
    await reportFinal(ctx, onAnswer, next, signal);
  } finally {
    await releaseLock(ctx.database, name, token);
  }
  return true;
}

async function reportFinal(ctx: Context, onAnswer: OnAnswer, next: FinalReport, signal: AbortSignal): Promise<void> {
  const { clock } = ctx;
  const reports: InstallReport[] = [];
  for (const { install, contractId } of await contractsOf(ctx, next)) {
    const wanted = { installs: [install], contractId };
    reports.push(...(await reportUsage(ctx, onAnswer, wanted, signal)));
  }
  const isDone = reports.every(({ left, failure }) => left === 0 && failure === null);
  const isLate = clock.now().getTime() - Date.parse(next.wantedAt) >= longestMs;
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
