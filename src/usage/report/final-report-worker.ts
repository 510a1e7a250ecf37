import { randomUUID } from 'node:crypto';
import { holdLock, releaseLock } from '../../db/lock-store.ts';
import type { ContractKey } from '../../domain/evidence.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import { listEngagements, listWorkLinks } from '../read/contract-source-store.ts';
import { type FinalReport, nextFinalReport, postponeFinalReport, settleFinalReport } from './final-report-store.ts';
import type { ReportDeps } from './report-deps.ts';
import { type InstallReport, reportUsage } from './report-usage.ts';

const leaseMs = 5 * 60_000;
const againMs = 60_000;
/** After this time the schedule reports the work. */
const longestMs = 60 * 60_000;

/**
 * Reports a final reading as soon as it has ended: all contracts that the trainer worked on in that group. What is
 * seen later is reported by the schedule.
 */
export function createFinalReportWorker(deps: ReportDeps): Loop {
  const { logger, clock } = deps;
  return createLoop({
    name: 'report-final-usage',
    pollMs: deps.pollMs,
    logger,
    clock,
    run: async (signal) => ((await reportNextFinal(deps, signal)) ? 'more' : 'idle'),
  });
}

/** @returns false where there is none, or another instance reports it */
export async function reportNextFinal(deps: ReportDeps, signal: AbortSignal): Promise<boolean> {
  const { clock } = deps;
  const now = toInstant(clock.now());
  const next = await nextFinalReport(deps, now);
  if (next === undefined) return false;
  const [name, token] = [`usage-final:${next.membershipId}`, randomUUID()];
  // One of several instances reports it. After a crash another one does, when the lease has run out.
  if (!(await holdLock(deps.database, name, token, now, instantIn(clock, leaseMs)))) return false;
  try {
    await reportFinal(deps, next, signal);
  } finally {
    await releaseLock(deps.database, name, token);
  }
  return true;
}

async function reportFinal(deps: ReportDeps, next: FinalReport, signal: AbortSignal): Promise<void> {
  const { clock } = deps;
  const reports: InstallReport[] = [];
  for (const { install, contractId } of await contractsOf(deps, next)) {
    const wanted = { installs: [install], contractId };
    for (const report of await reportUsage(deps, wanted, signal)) reports.push(report);
  }
  const isDone = reports.every(({ left, failure }) => left === 0 && failure === null);
  const isLate = clock.now().getTime() - Date.parse(next.wantedAt) >= longestMs;
  if (isDone || isLate) await settleFinalReport(deps, next, toInstant(clock.now()));
  else await postponeFinalReport(deps, next, instantIn(clock, againMs));
}

/** The contracts on which the trainer worked in that group, past or present. */
async function contractsOf(deps: ReportDeps, { tool, groupId, trainerId }: FinalReport): Promise<ContractKey[]> {
  const links = new Map((await listWorkLinks(deps)).map((link) => [linkKey(link), deps.scopeOf(link)]));
  const contracts = new Map<string, ContractKey>();
  for (const engagement of await listEngagements(deps, { trainerIds: [trainerId] })) {
    const workScope = links.get(linkKey(engagement));
    if (workScope?.tool !== tool || workScope.groupId !== groupId) continue;
    const { install, contractId } = engagement;
    contracts.set(JSON.stringify([install, contractId]), { install, contractId });
  }
  return [...contracts.values()];
}

function linkKey({ install, linkId }: { install: string; linkId: string }): string {
  return JSON.stringify([install, linkId]);
}
