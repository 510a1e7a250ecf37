import { AppError } from '../domain/errors.ts';
import type { DraftUpdate } from '../marketplace/contract/jobs.ts';
import { budgetOf } from './budget.ts';
import { refusalOf } from './error-response.ts';
import type { Marketplace } from './marketplace.ts';
import type { Wanted } from './parse-request.ts';
import { toFreelancer, toPublicMilestone } from './public-shapes.ts';
import {
  raiseBudgetNews,
  raiseContractEvents,
  raiseJobNews,
  raiseMilestoneEvents,
  raiseMilestoneNews,
} from './raise-events.ts';
import {
  findIn,
  type Job,
  type Milestone,
  type Proposal,
  proposalIdOf,
  type SandboxContract,
  type SandboxState,
  type Trainer,
  toContract,
  toJob,
} from './sandbox-state.ts';

/** Employers offer a job, trainers propose, and employers hire, fund, replace a trainer and end a contract. */

/** A published one. */
export function createJob(marketplace: Marketplace, wanted: Wanted<'NewJob'>): Job {
  const organizationId = employerOf(marketplace.state, wanted);
  const { title = 'Label street scenes', paymentType = 'PAY_PER_HOUR' } = wanted;
  const fields = { jobTitle: title, ...(paymentType !== null && { paymentType }) };
  return { ...addJob(marketplace, organizationId, 'OPEN', fields) };
}

export function addJob(
  marketplace: Marketplace,
  organizationId: string,
  status: Job['status'],
  fields: DraftUpdate,
  idempotencyKey?: string,
): Job {
  const { ids, now } = marketplace;
  const job = { ...toJob(ids.next('job'), organizationId, now(), idempotencyKey), status };
  marketplace.state.jobs.set(job.id, job);
  changeJob(marketplace, job, fields);
  return job;
}

export function changeJob({ now }: Marketplace, job: Job, changes: DraftUpdate): void {
  Object.assign(job.fields, changes);
  job.title = job.fields.jobTitle ?? job.title;
  job.paymentType = job.fields.paymentType ?? job.paymentType;
  job.updatedAt = now();
}

/** @throws AppError `not_found` if neither is given, or it does not exist */
function employerOf(state: SandboxState, { accountId, installId = '' }: Wanted<'NewJob'>): string {
  if (accountId !== undefined) return findIn(state.accounts, 'account', accountId).id;
  return findIn(state.installs, 'install', installId).organizationId;
}

/** A trainer proposes to do a job. */
export function propose(marketplace: Marketplace, wanted: Wanted<'NewProposal'>) {
  const { state, ids, now } = marketplace;
  const { jobId, coverLetter = null, rateUsd = 20, interview: said } = wanted;
  const job = findIn(state.jobs, 'job', jobId);
  findIn(state.accounts, 'account', job.organizationId);
  if (job.status !== 'OPEN') throw refusalOf('job_not_published');
  const trainer = toTrainer(marketplace, wanted.trainer ?? {});
  if (wanted.refusal !== undefined) state.unhireable.set(trainer.opentrainUserId, wanted.refusal);
  const id = ids.next('prp');
  const interview = said === undefined ? null : toInterview(marketplace, id, said);
  const subject = { id, jobId, job, trainer, coverLetter, rateUsd, interview };
  const proposal: Proposal = {
    ...subject,
    freelancer: toFreelancer(trainer),
    status: wanted.isNotFit === true ? 'NOT_FIT' : 'PENDING',
    createdAt: now(),
    aiInterview: { transcriptAvailable: interview !== null, score: interview?.score ?? null },
  };
  state.proposals.set(id, proposal);
  raiseJobNews(marketplace, job, 'proposal.received', id, { proposalId: id, jobId });
  return { proposalId: id, jobId, trainer: { ...trainer } };
}

/** No transcript shows addresses, links and telephone numbers (spec: part A section 2.8). */
function scrub(text: string): string {
  const words = text.replaceAll(/\+?\d[\d -]{6,}\d/g, '[removed]');
  return words.replaceAll(/\S+/g, (word) => (/@|:\/\//.test(word) ? '[removed]' : word));
}

type Interview = NonNullable<Wanted<'NewProposal'>['interview']>;

function toInterview({ ids, now }: Marketplace, proposalId: string, said: Interview) {
  const { score = 80, summary = null } = said;
  const messages = said.messages.map(({ role, content }) => {
    return { id: ids.next('imsg'), role, content: scrub(content), sentAt: now() };
  });
  return { proposalId, interviewId: ids.next('int'), score, summary, messages };
}

/** @param proposal what the employer hired from */
export function hire(marketplace: Marketplace, wanted: Wanted<'Hire'>, proposal?: Proposal) {
  const { state, ids, now } = marketplace;
  const job = findIn(state.jobs, 'job', wanted.jobId);
  const contract = toContract(ids.next('ctr'), job, now(), proposal);
  contract.title = wanted.title ?? contract.title;
  contract.startDate = wanted.startDate ?? contract.startDate;
  contract.participants = (wanted.trainers ?? [{}]).map((trainer) => toTrainer(marketplace, trainer));
  state.contracts.set(contract.id, contract);
  raiseContractEvents(marketplace, 'contract.started', contract);
  const data = { contractId: contract.id, jobId: job.id, proposalId: proposalIdOf(contract) };
  raiseJobNews(marketplace, job, 'contract.created', contract.id, data);
  const trainers = contract.participants.map((trainer) => ({ ...trainer }));
  return { contractId: contract.id, jobId: job.id, trainers };
}

export function endContract(marketplace: Marketplace, contractId: string, wanted: Wanted<'End'> = {}) {
  const contract = findIn(marketplace.state.contracts, 'contract', contractId);
  if (contract.status === 'ended') throw new AppError('conflict', 'The contract has already ended');
  contract.status = 'ended';
  contract.endDate = wanted.endDate ?? marketplace.now();
  raiseContractEvents(marketplace, 'contract.ended', contract);
  return { contractId, status: contract.status };
}

/** Sends an event about an end that did not happen. The API still lists the contract as active. */
export function raiseMistakenEnd(marketplace: Marketplace, contractId: string) {
  const contract = findIn(marketplace.state.contracts, 'contract', contractId);
  if (contract.status === 'ended') throw new AppError('conflict', 'The contract has ended');
  const endDate = marketplace.now();
  raiseContractEvents(marketplace, 'contract.ended', { ...contract, status: 'ended', endDate });
  return { contractId, status: contract.status };
}

/** A new milestone is funded at once. */
export function fundMilestone(marketplace: Marketplace, contractId: string, wanted: Wanted<'Funding'> = {}) {
  const contract = findIn(marketplace.state.contracts, 'contract', contractId);
  const milestone = addMilestone(marketplace, contract, wanted);
  activateMilestone(marketplace, contract, milestone);
  return { contractId, milestone: toPublicMilestone(milestone) };
}

/** @param wanted what is left out has a default */
export function addMilestone(
  { ids, now }: Marketplace,
  { milestones }: SandboxContract,
  wanted: Wanted<'Funding'>,
): Milestone {
  const milestoneNumber = milestones.length + 1;
  const { name = `Milestone ${milestoneNumber}`, amountUsd = 200, volume = 10 } = wanted;
  const { description = null, dueDate = null } = wanted;
  const terms = { name, amountUsd, volume, description, dueDate };
  // No work is ever submitted here, so none awaits approval.
  const facts = { status: 'NOT_FUNDED', pendingApproval: false, needsReview: false, invoiceId: null } as const;
  const milestone = { id: ids.next('mst'), milestoneNumber, ...terms, ...facts, createdAt: now() };
  milestones.push(milestone);
  return milestone;
}

/** It becomes the only active one, and each budget warning may be sent again. */
export function activateMilestone(marketplace: Marketplace, contract: SandboxContract, milestone: Milestone): void {
  const before = budgetOf(contract);
  const completed = contract.milestones.filter(({ status }) => status === 'ACTIVE_FUNDED');
  for (const earlier of completed) earlier.status = 'COMPLETED';
  milestone.status = 'ACTIVE_FUNDED';
  contract.warned.clear();
  raiseMilestoneEvents(marketplace, 'milestone.funded', contract);
  for (const one of [...completed, milestone]) raiseMilestoneNews(marketplace, contract, one);
  raiseBudgetNews(marketplace, contract, before);
}

/** There is no event about this: only the list of participants shows it. */
export function replaceParticipant(
  marketplace: Marketplace,
  contractId: string,
  { leaves, joins }: Wanted<'Replacement'>,
) {
  const { participants, formerParticipants } = findIn(marketplace.state.contracts, 'contract', contractId);
  const index = participants.findIndex((trainer) => trainer.opentrainUserId === leaves);
  if (index === -1) throw new AppError('not_found', `No participant ${leaves} on the contract`);
  const successors = joins === undefined ? [] : [toTrainer(marketplace, joins)];
  participants.splice(index, 1, ...successors);
  formerParticipants.push({ userId: leaves, removedAt: marketplace.now() });
  return { contractId, participants: participants.map((trainer) => ({ ...trainer })) };
}

/** Platforms see masked names, and two trainers may have the same one. */
const maskedNames = ['Amara O.', 'Bruno S.', 'Chiara M.', 'Dawit T.', 'Elif K.', 'Farid A.'];

function toTrainer({ state, ids }: Marketplace, wanted: NonNullable<Wanted<'NewProposal'>['trainer']>): Trainer {
  const opentrainUserId = wanted.opentrainUserId ?? ids.next('usr');
  const number = state.trainers.size;
  const known = state.trainers.get(opentrainUserId) ?? {
    opentrainUserId,
    displayName: maskedNames[number % maskedNames.length] ?? '',
    country: 'PT',
    profileUrl: `https://app.opentrain.ai/trainers/${encodeURIComponent(opentrainUserId)}`,
    workEmail: `trainer.${number + 1}@opentrain.work`,
  };
  const { displayName = known.displayName, country = known.country, workEmail = known.workEmail } = wanted;
  Object.assign(known, { displayName, country, workEmail });
  state.trainers.set(opentrainUserId, known);
  return known;
}
