import { AppError } from '../domain/errors.ts';
import { toInstant } from '../lib/clock.ts';
import { budgetOf, planWarnings } from './budget.ts';
import { tellBudget } from './employer/tell-account.ts';
import type { Marketplace } from './marketplace.ts';
import { toMilestoneOccurrences } from './occurrences.ts';
import { type Budget, ReportedUsage } from './platform-answer-schema.ts';
import { parseRequest, UsageReport } from './platform-request-schema.ts';
import { findLinkedContract, type PlatformCall, type PlatformRoute } from './platform-route.ts';
import type { SandboxContract, WorkTotals } from './sandbox-state.ts';

export const usageRoute: PlatformRoute = {
  method: 'post',
  path: '/contracts/{id}/usage',
  scopes: ['usage:write'],
  operationId: 'reportUsage',
  summary: 'Totals per worker and day',
  body: UsageReport,
  answer: ReportedUsage,
  refusals: [409],
  run: reportUsage,
};

type UsageEntry = UsageReport['entries'][number];

/** Stores all entries or none: every entry is checked before the first is stored. */
function reportUsage(call: PlatformCall) {
  const { marketplace, body } = call;
  const contract = findLinkedContract(call);
  const { entries } = parseRequest(UsageReport, body);
  const now = toInstant(marketplace.clock.now());
  const byDay = entries.map((entry) => ({ key: toUsageKey(contract, entry, now), entry }));
  const before = budgetOf(contract);
  for (const { key, entry } of byDay) storeTotals(contract, key, entry);
  contract.lastUsageAt = now;
  warnOfBudget(marketplace, contract, before);
  tellBudget(marketplace, contract, before);
  return { contractId: contract.id, accepted: entries.length, budget: budgetOf(contract) };
}

function toUsageKey(contract: SandboxContract, entry: UsageEntry, now: string): string {
  const { workDate, workerOpentrainUserId } = entry;
  const [hired] = contract.participants;
  if (hired === undefined) throw new AppError('conflict', 'The contract has no hired trainer');
  if (workDate > now.slice(0, 10)) {
    throw new AppError('invalid', `workDate: ${workDate} has not begun in UTC`);
  }
  const worker = workerOpentrainUserId ?? hired.opentrainUserId;
  if (!contract.participants.some(({ opentrainUserId }) => opentrainUserId === worker)) {
    throw new AppError('invalid', 'workerOpentrainUserId: not a participant of the contract');
  }
  return `${worker} ${workDate}`;
}

/** Totals replace what was stored. A field that is left out keeps its value. */
function storeTotals(contract: SandboxContract, key: string, entry: UsageEntry): void {
  const stored = contract.usage.get(key);
  const totals: WorkTotals = {
    totalSeconds: entry.totalSeconds ?? stored?.totalSeconds ?? 0,
    tasksCompleted: entry.tasksCompleted ?? stored?.tasksCompleted ?? 0,
    labelsCompleted: entry.labelsCompleted ?? stored?.labelsCompleted ?? 0,
  };
  contract.usage.set(key, totals);
}

function warnOfBudget(marketplace: Marketplace, contract: SandboxContract, before: Budget): void {
  const eventTypeOf = {
    LOW: 'milestone.budget_low',
    DEPLETED: 'milestone.budget_depleted',
  } as const;
  for (const warning of planWarnings(before, budgetOf(contract), contract)) {
    contract.warned.add(warning);
    marketplace.raiseEvents(toMilestoneOccurrences(marketplace.state, eventTypeOf[warning], contract));
  }
}
