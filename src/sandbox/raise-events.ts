import { toInstant } from '../lib/clock.ts';
import { budgetOf } from './budget.ts';
import { queueDelivery } from './dispatcher.ts';
import { planSending } from './faults/delivery-faults.ts';
import type { Marketplace } from './marketplace.ts';
import type { SandboxEventType } from './platform-answer-schema.ts';
import { toParticipant, toPublicContract, toPublicLink } from './public-shapes.ts';
import {
  type Delivery,
  endpointsOfInstall,
  liveLinksOfJob,
  type SandboxContract,
  type SandboxInstall,
  type SandboxLink,
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
  type: SandboxEventType;
  resourceId: string;
  jobId: string | null;
}

/** The event for one install. */
interface Occurrence {
  install: SandboxInstall;
  data: Record<string, unknown>;
}

function raiseEvents(marketplace: Marketplace, subject: Subject, occurrences: Occurrence[]): void {
  const { ids, clock, options } = marketplace;
  const sharedId = options.sharesEventIds === true ? ids.nextEventId() : undefined;
  for (const { install, data } of occurrences) {
    const { type, ...rest } = subject;
    const id = sharedId ?? ids.nextEventId();
    const event = { id, type, apiVersion: 'v1', createdAt: toInstant(clock.now()), ...rest, data };
    const sent = options.payloads === 'minimal' ? toMinimalEvent(event) : event;
    deliverEvent(marketplace, install, event, JSON.stringify(sent));
  }
}

function toMinimalEvent({ type, resourceId, data }: Subject & Pick<Occurrence, 'data'>) {
  return {
    type,
    resourceId,
    data: {
      ...pick(data, 'contract', ['id']),
      ...pick(data, 'freelancer', ['workEmail', 'displayName']),
    },
  };
}

function pick(data: Record<string, unknown>, name: string, keys: string[]) {
  const value = data[name];
  if (typeof value !== 'object' || value === null) return {};
  const kept = Object.entries(value).filter(([key]) => keys.includes(key));
  return { [name]: Object.fromEntries(kept) };
}

/**
 * Queues an event for each subscribed, active endpoint of an install or an employer's account. An endpoint that is
 * disabled now, or created later, never gets it.
 */
export function deliverEvent(
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
    const delivery: Delivery = {
      id: ids.next('dlv'),
      number: dice.countNext(owner.id, 'delivery'),
      endpoint,
      eventId,
      type,
      body,
      status: 'PENDING',
      attempts: [],
      failures: 0,
      dueAtMs: 0,
      repeatAfterMs: null,
    };
    state.deliveries.set(delivery.id, delivery);
    const sending = planSending(dice, delivery);
    if (sending.isLost) delivery.status = 'LOST';
    else queueDelivery(marketplace, delivery, sending.waitMs);
  }
}
