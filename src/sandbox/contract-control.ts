import { AppError } from '../domain/errors.ts';
import { toInstant } from '../lib/clock.ts';
import { budgetOf } from './budget.ts';
import type { End, Funding, Hire, HiredTrainer, NewJob, Replacement } from './control-request-schema.ts';
import { raiseBudgetNews, raiseFeed, raiseMilestoneNews } from './employer/raise-feed.ts';
import type { Marketplace } from './marketplace.ts';
import type { Milestone } from './platform-answer-schema.ts';
import { raiseContractEvents, raiseMilestoneEvents } from './raise-events.ts';
import { accountOf, findIn, type Job, type SandboxContract, type SandboxState, type Trainer } from './sandbox-state.ts';

/** Employers offer a job, hire, fund, replace a trainer and end a contract. */

export type HiredContract = ReturnType<typeof hire>;

export function createJob({ state, ids }: Marketplace, wanted: NewJob): Job {
  const job: Job = {
    id: ids.next('job'),
    organizationId: employerOf(state, wanted),
    title: wanted.title ?? 'Label street scenes',
    paymentType: wanted.paymentType === undefined ? 'PAY_PER_HOUR' : wanted.paymentType,
  };
  state.jobs.set(job.id, job);
  return { ...job };
}

/** @throws AppError `not_found` if neither is given, or it does not exist */
function employerOf(state: SandboxState, { accountId, installId = '' }: NewJob): string {
  if (accountId !== undefined) return findIn(state.accounts, 'account', accountId).id;
  return findIn(state.installs, 'install', installId).organizationId;
}

export function hire(marketplace: Marketplace, wanted: Hire) {
  const { state, ids, clock } = marketplace;
  const job = findIn(state.jobs, 'job', wanted.jobId);
  const createdAt = toInstant(clock.now());
  const contract: SandboxContract = {
    id: ids.next('ctr'),
    status: 'active',
    job,
    title: wanted.title ?? job.title,
    startDate: wanted.startDate ?? createdAt,
    endDate: null,
    createdAt,
    participants: (wanted.trainers ?? [{}]).map((trainer) => toTrainer(marketplace, trainer)),
    milestones: [],
    usage: new Map(),
    lastUsageAt: null,
    warned: new Set(),
  };
  state.contracts.set(contract.id, contract);
  raiseContractEvents(marketplace, 'contract.started', contract);
  const account = accountOf(state, contract);
  if (account !== undefined) {
    const data = { contractId: contract.id, jobId: job.id, proposalId: `prp_${contract.id}` };
    raiseFeed(marketplace, account, 'contract.created', { resourceId: contract.id, jobId: job.id, data });
  }
  const trainers = contract.participants.map((trainer) => ({ ...trainer }));
  return { contractId: contract.id, jobId: job.id, trainers };
}

export function endContract(marketplace: Marketplace, contractId: string, wanted: End = {}) {
  const contract = findIn(marketplace.state.contracts, 'contract', contractId);
  if (contract.status === 'ended') throw new AppError('conflict', 'The contract has already ended');
  contract.status = 'ended';
  contract.endDate = wanted.endDate ?? toInstant(marketplace.clock.now());
  raiseContractEvents(marketplace, 'contract.ended', contract);
  return { contractId, status: contract.status };
}

/** Sends an event about an end that did not happen. The API still lists the contract as active. */
export function raiseMistakenEnd(marketplace: Marketplace, contractId: string) {
  const contract = findIn(marketplace.state.contracts, 'contract', contractId);
  if (contract.status === 'ended') throw new AppError('conflict', 'The contract has ended');
  const endDate = toInstant(marketplace.clock.now());
  raiseContractEvents(marketplace, 'contract.ended', { ...contract, status: 'ended', endDate });
  return { contractId, status: contract.status };
}

/** The new milestone becomes the active one, and each budget warning may be sent again. */
export function fundMilestone(marketplace: Marketplace, contractId: string, wanted: Funding = {}) {
  const contract = findIn(marketplace.state.contracts, 'contract', contractId);
  const before = budgetOf(contract);
  const completed = contract.milestones.filter(({ status }) => status === 'ACTIVE_FUNDED');
  for (const earlier of completed) earlier.status = 'COMPLETED';
  const milestone: Milestone = {
    id: marketplace.ids.next('mst'),
    name: wanted.name ?? `Milestone ${contract.milestones.length + 1}`,
    amountUsd: wanted.amountUsd ?? 200,
    volume: wanted.volume ?? 10,
    status: 'ACTIVE_FUNDED',
  };
  contract.milestones.push(milestone);
  contract.warned.clear();
  raiseMilestoneEvents(marketplace, 'milestone.funded', contract);
  for (const one of [...completed, milestone]) raiseMilestoneNews(marketplace, contract, one);
  raiseBudgetNews(marketplace, contract, before);
  return { contractId, milestone: { ...milestone } };
}

/** There is no event about this: only the list of participants shows it. */
export function replaceParticipant(marketplace: Marketplace, contractId: string, { leaves, joins }: Replacement) {
  const { participants } = findIn(marketplace.state.contracts, 'contract', contractId);
  const index = participants.findIndex((trainer) => trainer.opentrainUserId === leaves);
  if (index === -1) throw new AppError('not_found', `No participant ${leaves} on the contract`);
  const successors = joins === undefined ? [] : [toTrainer(marketplace, joins)];
  participants.splice(index, 1, ...successors);
  return { contractId, participants: participants.map((trainer) => ({ ...trainer })) };
}

/** Platforms see masked names, and two trainers may have the same one. */
const maskedNames = ['Amara O.', 'Bruno S.', 'Chiara M.', 'Dawit T.', 'Elif K.', 'Farid A.'];

function toTrainer({ state, ids }: Marketplace, wanted: HiredTrainer): Trainer {
  const opentrainUserId = wanted.opentrainUserId ?? ids.next('usr');
  const number = state.trainers.size;
  const known = state.trainers.get(opentrainUserId) ?? {
    opentrainUserId,
    displayName: maskedNames[number % maskedNames.length] ?? '',
    country: 'PT',
    profileUrl: `https://app.opentrain.ai/trainers/${encodeURIComponent(opentrainUserId)}`,
    workEmail: `trainer.${number + 1}@opentrain.work`,
  };
  known.displayName = wanted.displayName ?? known.displayName;
  known.country = wanted.country ?? known.country;
  known.workEmail = wanted.workEmail === undefined ? known.workEmail : wanted.workEmail;
  state.trainers.set(opentrainUserId, known);
  return known;
}
