import { AppError } from '../../domain/errors.ts';
import type { AccountCall } from '../api-router.ts';
import { Refusal } from '../error-response.ts';
import { accountOf, type Job, type Proposal, type SandboxContract } from '../sandbox-state.ts';

/** Whose records are looked up. */
export type Owner = Pick<AccountCall, 'marketplace' | 'account'>;

/** What belongs to others does not exist for the caller. @param resource in the plural */
export function refuse(resource: string, details: Record<string, unknown>): never {
  throw new Refusal('not_found', `There is no such ${resource.slice(0, -1)}`, { resource, ...details });
}

export function findContract({ marketplace: { state }, account }: Owner, contractId: string): SandboxContract {
  const contract = state.contracts.get(contractId);
  return contract && accountOf(state, contract) === account ? contract : refuse('contracts', { contractId });
}

export function findMilestone({ marketplace: { state }, account }: Owner, milestoneId: string) {
  for (const contract of state.contracts.values()) {
    const milestone = contract.milestones.find(({ id }) => id === milestoneId);
    if (milestone !== undefined && accountOf(state, contract) === account) return { contract, milestone };
  }
  return refuse('milestones', { milestoneId });
}

export function findJob({ marketplace: { state }, account }: Owner, jobId: string): Job {
  const job = state.jobs.get(jobId);
  return job?.organizationId === account.id ? job : refuse('jobs', { jobId });
}

/** @throws AppError `forbidden` for a job of another account, `not_found` */
export function requireJob({ marketplace: { state }, account }: Owner, jobId: string): Job {
  const job = state.jobs.get(jobId) ?? refuse('jobs', { jobId });
  if (job.organizationId === account.id) return job;
  throw new AppError('forbidden', "The job is another account's");
}

/** @throws AppError `forbidden` for a proposal for a job of another account, `not_found` */
export function requireProposal(owner: Owner, proposalId: string): Proposal {
  const proposal = owner.marketplace.state.proposals.get(proposalId) ?? refuse('proposals', { proposalId });
  requireJob(owner, proposal.jobId);
  return proposal;
}
