import { AppError } from '../domain/errors.ts';
import { toInstant } from '../lib/clock.ts';
import { budgetOf, planWarnings } from './budget.ts';
import { raiseBudgetNews } from './employer/raise-feed.ts';
import type { Marketplace } from './marketplace.ts';
import { Budget, ContractPage, Contracts, Participants, ReportedUsage } from './platform-answer-schema.ts';
import { ContractQuery, parseRequest, UsageReport } from './platform-request-schema.ts';
import { findLinkedContract, type PlatformCall, type PlatformRoute } from './platform-route.ts';
import { toListedContract, toParticipant } from './public-shapes.ts';
import { raiseMilestoneEvents } from './raise-events.ts';
import { linksOfInstall, type SandboxContract, type WorkTotals } from './sandbox-state.ts';

export const contractRoutes: PlatformRoute[] = [
  {
    operation: 'GET /contracts',
    scopes: ['contracts:read'],
    query: ContractQuery,
    answer: Contracts,
    page: ContractPage,
    run: listContracts,
  },
  {
    operation: 'GET /contracts/{id}/participants',
    scopes: ['participants:read'],
    answer: Participants,
    run: listParticipants,
  },
  {
    operation: 'GET /contracts/{id}/budget',
    scopes: ['contracts:read'],
    answer: Budget,
    run: (call) => budgetOf(findLinkedContract(call)),
  },
  {
    operation: 'POST /contracts/{id}/usage',
    scopes: ['usage:write'],
    body: UsageReport,
    answer: ReportedUsage,
    refusals: [409],
    run: reportUsage,
  },
];

function listContracts(call: PlatformCall) {
  const { marketplace, install } = call;
  const hasCursors = marketplace.options.cursors === true;
  const query = parseRequest(ContractQuery, call.query);
  const found = findContracts(call, query.projectLinkId).filter(
    ({ status }) => query.status === undefined || status === query.status,
  );
  const first = hasCursors ? firstAfter(found, query.cursor) : 0;
  const page = found.slice(first, first + query.limit);
  const contracts = page.map((contract) => toListedContract(marketplace.state, install, contract));
  if (!hasCursors) return { contracts };
  const hasMore = first + page.length < found.length;
  return { contracts, nextCursor: hasMore ? toCursor(page.at(-1)) : null };
}

/** Newest first; none for a link of another install. */
function findContracts({ marketplace, install }: PlatformCall, linkId?: string): SandboxContract[] {
  const links = linksOfInstall(marketplace.state, install).filter(({ id }) => linkId === undefined || id === linkId);
  const jobIds = new Set(links.map(({ jobId }) => jobId));
  return [...marketplace.state.contracts.values()].filter(({ job }) => jobIds.has(job.id)).reverse();
}

function toCursor(contract: SandboxContract | undefined): string | null {
  return contract === undefined ? null : Buffer.from(contract.id).toString('base64url');
}

function firstAfter(contracts: SandboxContract[], cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const lastId = Buffer.from(cursor, 'base64url').toString();
  const last = contracts.findIndex(({ id }) => id === lastId);
  if (last === -1) throw new AppError('invalid', 'cursor: this listing did not return it');
  return last + 1;
}

function listParticipants(call: PlatformCall) {
  const contract = findLinkedContract(call);
  return {
    contractId: contract.id,
    participants: contract.participants.map((trainer) => toParticipant(call.install, trainer)),
  };
}

type UsageEntry = UsageReport['entries'][number];

/** Checks every entry before it stores the first, so that either all are stored or none. */
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
  raiseBudgetNews(marketplace, contract, before);
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

/** Totals replace the stored ones. A field that is left out keeps its value. */
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
    raiseMilestoneEvents(marketplace, eventTypeOf[warning], contract);
  }
}
