import { AppError } from '../domain/errors.ts';
import type { Received } from '../marketplace/contract/operation.ts';
import { platformContracts } from '../marketplace/contract/platform.ts';
import { forInstall, type InstallCall, type Route } from './api-router.ts';
import { type Budget, budgetOf, planWarnings } from './budget.ts';
import type { Marketplace } from './marketplace.ts';
import { toListedContract, toPage, toParticipant } from './public-shapes.ts';
import { raiseBudgetNews, raiseMilestoneEvents } from './raise-events.ts';
import { linksOfInstall, type SandboxContract, type WorkTotals } from './sandbox-state.ts';

export const contractRoutes: readonly Route[] = [
  forInstall(platformContracts.list, (call) => {
    const { marketplace, install, input } = call;
    const { projectLinkId, status, cursor, limit = 50 } = input;
    const hasCursors = marketplace.options.cursors === true;
    const found = findContracts(call, projectLinkId)
      .filter((one) => status === undefined || one.status === status)
      .map((contract) => toListedContract(marketplace.state, install, contract));
    const paged = { limit, cursor: hasCursors ? cursor : undefined };
    const { contracts, nextCursor } = toPage('contracts', found, paged, ({ id }) => id);
    return { contracts, ...(hasCursors && { nextCursor }) };
  }),
  forInstall(platformContracts.participants, (call) => {
    const contract = findLinkedContract(call, call.input.contractId);
    const participants = contract.participants.map((trainer) => toParticipant(call.install, trainer));
    return { contractId: contract.id, participants };
  }),
  forInstall(platformContracts.budget, (call) => budgetOf(findLinkedContract(call, call.input.contractId))),
  forInstall(platformContracts.usage, (call) => {
    const { contractId, entries } = call.input;
    return reportUsage(call.marketplace, findLinkedContract(call, contractId), entries);
  }),
];

/** A platform sees only the contracts whose job its install has linked. */
function findLinkedContract({ marketplace, install }: InstallCall, id: string): SandboxContract {
  const contract = marketplace.state.contracts.get(id);
  const links = linksOfInstall(marketplace.state, install);
  if (contract !== undefined && links.some(({ jobId }) => jobId === contract.job.id)) return contract;
  throw new AppError('not_found', 'No contract with this id on a linked job');
}

/** Newest first; none for a link of another install. */
function findContracts({ marketplace, install }: InstallCall, linkId?: string): SandboxContract[] {
  const links = linksOfInstall(marketplace.state, install).filter(({ id }) => linkId === undefined || id === linkId);
  const jobIds = new Set(links.map(({ jobId }) => jobId));
  return [...marketplace.state.contracts.values()].filter(({ job }) => jobIds.has(job.id)).reverse();
}

type UsageEntry = Received<typeof platformContracts.usage>['entries'][number];

/** Checks every entry before it stores the first, so that either all are stored or none. */
function reportUsage(marketplace: Marketplace, contract: SandboxContract, entries: readonly UsageEntry[]) {
  const now = marketplace.now();
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
  if (workDate > now.slice(0, 10)) throw new AppError('invalid', `workDate: ${workDate} has not begun in UTC`);
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
  for (const warning of planWarnings(before, budgetOf(contract), contract)) {
    contract.warned.add(warning);
    raiseMilestoneEvents(marketplace, `milestone.budget_${warning === 'LOW' ? 'low' : 'depleted'}`, contract);
  }
}
