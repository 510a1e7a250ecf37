import { toInstant } from '../../lib/clock.ts';
import { budgetOf } from '../budget.ts';
import type { Marketplace } from '../marketplace.ts';
import type { Budget, Milestone } from '../platform-answer-schema.ts';
import { deliverEvent } from '../raise-events.ts';
import { accountOf, type SandboxContract } from '../sandbox-state.ts';
import type { SandboxAccount } from './account.ts';
import type { EmployerEventType, FeedEvent } from './employer-answer-schema.ts';

/** Adds an event to the feed of an account, and delivers it to each webhook that is subscribed to it. */
export function raiseFeed(
  marketplace: Marketplace,
  account: SandboxAccount,
  type: EmployerEventType,
  subject: Pick<FeedEvent, 'resourceId' | 'jobId' | 'data'>,
): void {
  const { ids, clock } = marketplace;
  const id = ids.nextEventId();
  const event: FeedEvent = { id, type, apiVersion: 'v1', createdAt: toInstant(clock.now()), ...subject };
  account.feed.push(event);
  deliverEvent(marketplace, account, event, JSON.stringify(event));
}

/** If the employer has an account. */
export function raiseMilestoneNews(marketplace: Marketplace, contract: SandboxContract, milestone: Milestone): void {
  const account = accountOf(marketplace.state, contract);
  if (account === undefined) return;
  const { id: milestoneId, status } = milestone;
  const data = { milestoneId, contractId: contract.id, status };
  raiseFeed(marketplace, account, 'milestone.status_changed', {
    resourceId: milestoneId,
    jobId: contract.job.id,
    data,
  });
}

/** If the employer has an account. @param before the budget before the change that may have changed its state */
export function raiseBudgetNews(marketplace: Marketplace, contract: SandboxContract, before: Budget): void {
  const account = accountOf(marketplace.state, contract);
  const { paymentType, fundedVolume, consumedVolume, remainingVolume, consumedFraction, state } = budgetOf(contract);
  if (account === undefined || state === before.state) return;
  const volumes = { paymentType, fundedVolume, consumedVolume, remainingVolume, consumedFraction };
  raiseFeed(marketplace, account, 'contract.budget_state_changed', {
    resourceId: contract.id,
    jobId: contract.job.id,
    data: { contractId: contract.id, previousState: before.state, state, ...volumes },
  });
}
