import { budgetOf } from '../budget.ts';
import type { Marketplace } from '../marketplace.ts';
import type { Budget } from '../platform-answer-schema.ts';
import type { Milestone, SandboxContract } from '../sandbox-state.ts';
import { accountOf } from './find-account.ts';

/** What the feed of an employer says about the money of a contract, where the employer has an account. */

export function tellMilestone(
  { state, raiseFeed }: Marketplace,
  contract: SandboxContract,
  milestone: Milestone,
): void {
  const account = accountOf(state, contract);
  if (account === undefined) return;
  const { id: milestoneId, status } = milestone;
  const said = { resourceId: milestoneId, jobId: contract.job.id };
  raiseFeed(account, 'milestone.status_changed', { ...said, data: { milestoneId, contractId: contract.id, status } });
}

/** @param before the budget before the change that may have changed its state */
export function tellBudget({ state, raiseFeed }: Marketplace, contract: SandboxContract, before: Budget): void {
  const account = accountOf(state, contract);
  const { paymentType, fundedVolume, consumedVolume, remainingVolume, consumedFraction, ...budget } =
    budgetOf(contract);
  if (account === undefined || budget.state === before.state) return;
  const volumes = { paymentType, fundedVolume, consumedVolume, remainingVolume, consumedFraction };
  raiseFeed(account, 'contract.budget_state_changed', {
    resourceId: contract.id,
    jobId: contract.job.id,
    data: { contractId: contract.id, previousState: before.state, state: budget.state, ...volumes },
  });
}
