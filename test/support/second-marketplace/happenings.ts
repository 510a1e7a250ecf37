import { type EventContent, raiseEvent } from './deliveries.ts';
import type { MarketState } from './market-state.ts';
import type { BudgetRecord, ContractRecord, InstallRecord, JobRecord, LinkRecord, Person } from './records.ts';
import { budgetStateOf, showBudget, showContract, showLink, showPerson } from './shapes.ts';

/** What people do at the marketplace, by which records change and events are raised. */

export function contractOf(state: MarketState, contractId: string): ContractRecord {
  const contract = state.contracts.get(contractId);
  if (contract === undefined) throw new Error(`there is no contract ${contractId}`);
  return contract;
}

export function toPerson(opentrainUserId: string): Person {
  return {
    opentrainUserId,
    displayName: `${opentrainUserId.slice(0, 5)} D.`,
    country: 'PT',
    profileUrl: `https://app.opentrain.ai/t/${opentrainUserId}`,
    workEmail: `${opentrainUserId}@opentrain.work`,
  };
}

export interface HireOptions {
  title?: string;
  paymentType?: BudgetRecord['paymentType'];
}

export function hire(
  state: MarketState,
  jobId: string,
  people: Person[],
  { title = 'Labelling', paymentType = null }: HireOptions = {},
): string {
  const job = state.jobs.get(jobId);
  if (job === undefined) throw new Error(`there is no job ${jobId}`);
  const id = state.nextId('ctr');
  const now = state.now();
  const contract: ContractRecord = {
    id,
    job,
    title,
    people,
    sequence: state.nextSequence(),
    status: 'active',
    startDate: now,
    endDate: null,
    createdAt: now,
    budget: { paymentType, milestone: null, reported: new Map(), lastUsageAt: null, announced: 'OK' },
  };
  state.contracts.set(id, contract);
  job.contracts.active.push(contract);
  raiseOnLinks(state, contract, 'contract.started');
  return id;
}

export function end(state: MarketState, contractId: string): void {
  const contract = contractOf(state, contractId);
  if (contract.status === 'ended') return;
  moveContract(contract, 'ended');
  contract.endDate = state.now();
  raiseOnLinks(state, contract, 'contract.ended');
}

/** One event per link on the job. */
function raiseOnLinks(state: MarketState, contract: ContractRecord, type: string): void {
  const [person] = contract.people;
  for (const { install, link } of linksOnJob(state, contract.job.id)) {
    raiseEvent(state, install, {
      type,
      resourceId: contract.id,
      jobId: contract.job.id,
      data: {
        contract: showContract(contract),
        ...(person && { freelancer: showPerson(person, install) }),
        projectLink: showLink(link),
      },
    });
  }
}

function linksOnJob({ installs }: MarketState, jobId: string): { install: InstallRecord; link: LinkRecord }[] {
  return [...installs.values()]
    .filter(({ status }) => status === 'ACTIVE')
    .flatMap((install) => [...install.links.values()].map((link) => ({ install, link })))
    .filter(({ link }) => link.jobId === jobId);
}

export function fund(
  state: MarketState,
  contractId: string,
  { amountUsd, volume }: { amountUsd: number; volume: number },
): void {
  const contract = contractOf(state, contractId);
  const id = state.nextId('mls');
  contract.budget.milestone = { id, name: 'Milestone', amountUsd, volume, status: 'FUNDED' };
  contract.budget.announced = budgetStateOf(contract.budget);
  raiseMilestone(state, contract, 'milestone.funded');
}

const levels = ['OK', 'LOW', 'DEPLETED'] as const;

/** An event announces each level once, when it is crossed upward. */
export function tellBudget(state: MarketState, contract: ContractRecord): void {
  const { budget } = contract;
  const reached = levels.indexOf(budgetStateOf(budget));
  if (reached <= levels.indexOf(budget.announced)) return;
  budget.announced = levels[reached] ?? 'OK';
  const type = budget.announced === 'LOW' ? 'milestone.budget_low' : 'milestone.budget_depleted';
  raiseMilestone(state, contract, type);
}

function raiseMilestone(state: MarketState, contract: ContractRecord, type: string): void {
  const { milestone } = contract.budget;
  const event: EventContent = {
    type,
    resourceId: milestone?.id ?? contract.id,
    jobId: contract.job.id,
    data: { contractId: contract.id, milestone, budget: showBudget(contract) },
  };
  const installs = new Set(linksOnJob(state, contract.job.id).map(({ install }) => install));
  for (const install of installs) raiseEvent(state, install, event);
}

export interface WantedInstall {
  organizationId?: string;
  scopes?: string[];
  piiConsent?: boolean;
}

const allScopes = [
  'project-links:read',
  'project-links:write',
  'contracts:read',
  'participants:read',
  'participants:email',
  'usage:write',
  'webhooks:manage',
];

export function createInstall(
  state: MarketState,
  { organizationId = state.nextId('org'), scopes = allScopes, piiConsent = true }: WantedInstall,
): InstallRecord {
  const value = `ot_ptk_${state.nextId('second')}`;
  const install: InstallRecord = {
    id: state.nextId('ins'),
    status: 'ACTIVE',
    scopes: [...scopes],
    piiConsent,
    organizationId,
    createdAt: state.now(),
    links: new Map(),
    endpoints: new Map(),
    token: { id: state.nextId('tok'), name: 'Gangway', value, isLive: true },
  };
  state.installs.set(install.id, install);
  state.installsByToken.set(value, install);
  return install;
}

export function revokeInstall(state: MarketState, install: InstallRecord): void {
  if (install.status === 'REVOKED') return;
  install.status = 'REVOKED';
  raiseEvent(state, install, {
    type: 'install.revoked',
    resourceId: install.id,
    jobId: null,
    data: { install: { id: install.id, status: 'REVOKED' } },
  });
}

/** A new install and a new token; links, endpoints and secrets stay with the old one. */
export function reconnect(state: MarketState, install: InstallRecord): InstallRecord {
  revokeInstall(state, install);
  install.token.isLive = false;
  return createInstall(state, install);
}

/** Lists of contracts by sequence: a page of the newest costs a page, however many there are. */

type Status = ContractRecord['status'];

interface ContractQuery {
  jobs: JobRecord[];
  statuses: Status[];
  /** Only older ones than this. */
  before: number;
  limit: number;
}

/** The newest first. */
export function listContracts({ jobs, statuses, before, limit }: ContractQuery): ContractRecord[] {
  const sources = jobs
    .flatMap(({ contracts }) => statuses.map((status) => contracts[status]))
    .map((list) => ({ list, next: indexOf(list, before) - 1 }));
  const page: ContractRecord[] = [];
  while (page.length < limit) {
    const newest = sources.reduce<{ contract: ContractRecord; from: { next: number } } | null>((best, source) => {
      const contract = source.list[source.next];
      if (contract === undefined) return best;
      return best !== null && best.contract.sequence > contract.sequence ? best : { contract, from: source };
    }, null);
    if (newest === null) break;
    newest.from.next -= 1;
    page.push(newest.contract);
  }
  return page;
}

function moveContract(contract: ContractRecord, status: Status): void {
  const { contracts } = contract.job;
  const from = contracts[contract.status];
  from.splice(indexOf(from, contract.sequence), 1);
  contract.status = status;
  const to = contracts[status];
  to.splice(indexOf(to, contract.sequence), 0, contract);
}

/** How many of the list come before that sequence. */
function indexOf(list: ContractRecord[], sequence: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle]?.sequence ?? 0) < sequence) low = middle + 1;
    else high = middle;
  }
  return low;
}
