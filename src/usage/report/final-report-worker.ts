import { randomUUID } from 'node:crypto';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import type { FinalReport, FinalReportStore } from './final-report-store.ts';
import type { ContractKey } from './ledger-store.ts';
import type { ReportDeps } from './report-deps.ts';
import { type InstallReport, reportUsage } from './report-usage.ts';

export interface FinalReportDeps extends ReportDeps {
  finals: FinalReportStore;
}

const leaseMs = 5 * 60_000;
const againMs = 60_000;
/** After so long the schedule has done it, or will. */
const longestMs = 60 * 60_000;

/**
 * Reports what was read before a removal as soon as it was read: of the contracts that the person
 * worked on there. What is seen later goes the way of the schedule.
 */
export function createFinalReportWorker(deps: FinalReportDeps): Loop {
  const { logger, clock } = deps;
  return createLoop({
    name: 'report-final-usage',
    pollMs: deps.pollMs,
    logger,
    clock,
    run: async (signal) => ((await reportNextFinal(deps, signal)) ? 'more' : 'idle'),
  });
}

/** @returns false where there is none, or another instance is at it */
export async function reportNextFinal(deps: FinalReportDeps, signal: AbortSignal): Promise<boolean> {
  const { finals, locks, clock } = deps;
  const now = toInstant(clock.now());
  const next = await finals.next(now);
  if (next === undefined) return false;
  const [name, token] = [`usage-final:${next.membershipId}`, randomUUID()];
  // Of several instances one does it; after a crash, another when the lease is over.
  if (!(await locks.hold(name, token, now, instantIn(clock, leaseMs)))) return false;
  try {
    await reportFinal(deps, next, signal);
  } finally {
    await locks.release(name, token);
  }
  return true;
}

async function reportFinal(deps: FinalReportDeps, next: FinalReport, signal: AbortSignal): Promise<void> {
  const { finals, clock } = deps;
  const reports: InstallReport[] = [];
  for (const { install, contractId } of await contractsOf(deps, next)) {
    const wanted = { installs: [install], contractId };
    for (const report of await reportUsage(deps, wanted, signal)) reports.push(report);
  }
  const isDone = reports.every(({ left, failure }) => left === 0 && failure === null);
  const isLate = clock.now().getTime() - Date.parse(next.wantedAt) >= longestMs;
  if (isDone || isLate) await finals.settle(next, toInstant(clock.now()));
  else await finals.postpone(next, instantIn(clock, againMs));
}

/** On which they worked in that group, whatever became of them. */
async function contractsOf(
  { sources, placeOf }: FinalReportDeps,
  { tool, groupId, trainerId }: FinalReport,
): Promise<ContractKey[]> {
  const links = new Map((await sources.links()).map((link) => [linkKey(link), placeOf(link)]));
  const contracts = new Map<string, ContractKey>();
  for (const engagement of await sources.engagements({ trainerIds: [trainerId] })) {
    const place = links.get(linkKey(engagement));
    if (place?.tool !== tool || place.groupId !== groupId) continue;
    const { install, contractId } = engagement;
    contracts.set(JSON.stringify([install, contractId]), { install, contractId });
  }
  return [...contracts.values()];
}

function linkKey({ install, linkId }: { install: string; linkId: string }): string {
  return JSON.stringify([install, linkId]);
}
