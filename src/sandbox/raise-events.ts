import type { FeedType } from '../marketplace/contract/events.ts';
import { type Budget, budgetOf } from './budget.ts';
import { queueDelivery } from './dispatcher.ts';
import type { FeedEvent, SandboxAccount } from './employer/account.ts';
import { planSending } from './faults/delivery-faults.ts';
import type { Marketplace } from './marketplace.ts';
import { toParticipant, toPublicContract, toPublicLink } from './public-shapes.ts';
import {
  type Delivery,
  endpointsOfInstall,
  type Job,
  liveLinksOfJob,
  type Milestone,
  type PlatformEventType,
  type SandboxContract,
  type SandboxInstall,
  type SandboxLink,
  type Trainer,
  toDelivery,
} from './sandbox-state.ts';

/** One event per link of the job. It names the first trainer; the list of participants has the others. */
export function raiseContractEvents(
  marketplace: Marketplace,
  type: 'contract.started' | 'contract.ended',
  contract: SandboxContract,
): void {
  const [trainer] = contract.participants;
  const occurrences = liveLinksOfJob(marketplace.state, contract.job).map(({ link, install }) => ({
    install,
    data: {
      contract: toPublicContract(contract),
      freelancer: trainer ? toParticipant(install, trainer) : null,
      projectLink: toPublicLink(link),
    },
  }));
  raiseEvents(marketplace, { type, resourceId: contract.id, jobId: contract.job.id }, occurrences);
}

/** One event per install with a link of the job, because these events name no link. */
export function raiseMilestoneEvents(
  marketplace: Marketplace,
  type: 'milestone.funded' | 'milestone.budget_low' | 'milestone.budget_depleted',
  contract: SandboxContract,
): void {
  const budget = budgetOf(contract);
  const milestone = budget.activeMilestone;
  const installs = new Set(liveLinksOfJob(marketplace.state, contract.job).map(({ install }) => install));
  const data = { contractId: contract.id, milestone, budget };
  const occurrences = [...installs].map((install) => ({ install, data }));
  raiseEvents(marketplace, { type, resourceId: milestone?.id ?? contract.id, jobId: contract.job.id }, occurrences);
}

export function raiseLinkEvent(
  marketplace: Marketplace,
  type: 'project_link.created' | 'project_link.removed',
  install: SandboxInstall,
  link: SandboxLink,
): void {
  const data = { projectLink: toPublicLink(link) };
  raiseEvents(marketplace, { type, resourceId: link.id, jobId: link.jobId }, [{ install, data }]);
}

export function raiseRevokedEvent(marketplace: Marketplace, install: SandboxInstall): void {
  const data = { install: { id: install.id, status: install.status } };
  raiseEvents(marketplace, { type: 'install.revoked', resourceId: install.id, jobId: null }, [{ install, data }]);
}

interface Subject {
  type: PlatformEventType;
  resourceId: string;
  jobId: string | null;
}

/** The event for one install. */
interface Occurrence {
  install: SandboxInstall;
  data: {
    contract?: { id: string };
    freelancer?: Partial<Trainer> | null;
    [other: string]: unknown;
  };
}

function raiseEvents(marketplace: Marketplace, subject: Subject, occurrences: Occurrence[]): void {
  const { ids, now, options } = marketplace;
  const sharedId = options.sharesEventIds === true ? ids.nextEventId() : undefined;
  for (const { install, data } of occurrences) {
    const { type, ...rest } = subject;
    const id = sharedId ?? ids.nextEventId();
    const event = { id, type, apiVersion: 'v1', createdAt: now(), ...rest, data };
    const sent = options.payloads === 'minimal' ? toMinimalEvent(event) : event;
    deliverEvent(marketplace, install, event, JSON.stringify(sent));
  }
}

function toMinimalEvent({ type, resourceId, data: { contract, freelancer } }: Subject & Pick<Occurrence, 'data'>) {
  const data = {
    ...(contract && { contract: { id: contract.id } }),
    ...(freelancer && { freelancer: { displayName: freelancer.displayName, workEmail: freelancer.workEmail } }),
  };
  return { type, resourceId, data };
}

/** Adds an event to the feed of an account, and delivers it to each webhook that is subscribed to it. */
export function raiseFeed(
  marketplace: Marketplace,
  account: SandboxAccount,
  type: FeedType,
  subject: Pick<FeedEvent, 'resourceId' | 'jobId' | 'data'>,
): void {
  const { ids, now } = marketplace;
  const event: FeedEvent = { id: ids.nextEventId(), type, apiVersion: 'v1', createdAt: now(), ...subject };
  account.feed.push(event);
  deliverEvent(marketplace, account, event, JSON.stringify(event));
}

/** The same about a job, if its employer has an account. */
export function raiseJobNews(
  marketplace: Marketplace,
  { id: jobId, organizationId }: Job,
  type: FeedType,
  resourceId: string,
  data: FeedEvent['data'],
): void {
  const account = marketplace.state.accounts.get(organizationId);
  if (account !== undefined) raiseFeed(marketplace, account, type, { resourceId, jobId, data });
}

export function raiseMilestoneNews(marketplace: Marketplace, contract: SandboxContract, milestone: Milestone): void {
  const { id: milestoneId, status } = milestone;
  const data = { milestoneId, contractId: contract.id, status };
  raiseJobNews(marketplace, contract.job, 'milestone.status_changed', milestoneId, data);
}

/** @param before the budget before the change that may have changed its state */
export function raiseBudgetNews(marketplace: Marketplace, contract: SandboxContract, before: Budget): void {
  const { contractId, state, paymentType, fundedVolume, consumedVolume, ...budget } = budgetOf(contract);
  if (state === before.state) return;
  const { remainingVolume, consumedFraction } = budget;
  const volumes = { paymentType, fundedVolume, consumedVolume, remainingVolume, consumedFraction };
  const data = { contractId, previousState: before.state, state, ...volumes };
  raiseJobNews(marketplace, contract.job, 'contract.budget_state_changed', contractId, data);
}

/**
 * Queues an event for each subscribed, active endpoint of an install or an employer's account. An endpoint that is
 * disabled now, or created later, never gets it.
 */
function deliverEvent(
  marketplace: Marketplace,
  owner: { id: string },
  { id: eventId, type }: Pick<Delivery, 'id' | 'type'>,
  body: string,
): void {
  const { state, ids, dice } = marketplace;
  const subscribed = endpointsOfInstall(state, owner).filter(
    ({ status, eventTypes }) => status === 'ACTIVE' && eventTypes.includes(type),
  );
  for (const endpoint of subscribed) {
    const numbers = { id: ids.next('dlv'), number: dice.countNext(owner.id, 'delivery') };
    const delivery = toDelivery({ ...numbers, endpoint, eventId, type, body });
    state.deliveries.set(delivery.id, delivery);
    const sending = planSending(dice, delivery);
    if (sending.isLost) delivery.status = 'LOST';
    else queueDelivery(marketplace, delivery, sending.waitMs);
  }
}
