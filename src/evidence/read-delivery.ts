import type { Storage } from '../context.ts';
import type { Row } from '../db/schema.ts';
import type { EventType, LifecycleEvent } from '../domain/event.ts';
import {
  type ContractEvidence,
  type Evidence,
  emptyContract,
  emptyEvidence,
  emptyGrant,
  emptyLink,
  toPair,
  versionOfEvent,
} from '../domain/evidence.ts';
import { readEvent, readerVersion } from '../inbox/event-schema.ts';
import { type DueDelivery, openBody } from '../inbox/inbox-store.ts';
import type { NamedTrainer } from './apply-evidence.ts';

/** A stored delivery and its evidence. */
export interface ReadDelivery extends EventEvidence {
  id: number;
  install: string;
  receivedAt: string;
  /** The trainer that it names; at most one. */
  named: NamedTrainer[];
  /** How it is settled if it is not an event that this version reads; null if it is. */
  unread: Pick<Row<'delivery'>, 'state' | 'failure' | 'readerVersion'> | null;
}

/** @throws AppError `internal` if the stored body cannot be decrypted */
export function readDelivery(ctx: Storage, delivery: DueDelivery, staleAfterMs: number): ReadDelivery {
  const { id, install, receivedAt } = delivery;
  const read = readEvent(openBody(ctx, delivery));
  const isEvent = read.outcome === 'event';
  const added = isEvent ? evidenceOfEvent(install, read.event, receivedAt, staleAfterMs) : noEvidence();
  const { people, contracts } = added.evidence;
  const named = people.flatMap(({ trainerId }) =>
    contracts.map(({ contractId }) => ({ install, contractId, trainerId, receivedAt })),
  );
  const failure = read.outcome === 'unprocessable' ? read.reason : null;
  const unread = isEvent ? null : { state: read.outcome, failure, readerVersion };
  return { id, install, receivedAt, ...added, named, unread };
}

/** Joins the evidence of several deliveries. */
export function collectDeliveries(deliveries: readonly ReadDelivery[]) {
  const toRead = deliveries.flatMap(({ install, contractToRead: contractId }) =>
    contractId === null ? [] : [{ install, contractId }],
  );
  const installsOf = (some: readonly ReadDelivery[]) => [...new Set(some.map(({ install }) => install))];
  return {
    evidence: joinEvidence(deliveries.map((delivery) => delivery.evidence)),
    named: deliveries.flatMap((delivery) => delivery.named),
    toRead: [...new Map(toRead.map((one) => [JSON.stringify(one), one])).values()],
    installs: installsOf(deliveries.filter(({ isInstallToRead }) => isInstallToRead)),
    ofPayments: installsOf(deliveries.filter(({ isMoneyToRead }) => isMoneyToRead)),
  };
}

export function joinEvidence(all: readonly Evidence[]): Evidence {
  return {
    contracts: all.flatMap(({ contracts }) => contracts),
    links: all.flatMap(({ links }) => links),
    grants: all.flatMap(({ grants }) => grants),
    pairs: all.flatMap(({ pairs }) => pairs),
    participations: all.flatMap(({ participations }) => participations),
    people: all.flatMap(({ people }) => people),
  };
}

interface EventEvidence {
  evidence: Evidence;
  /** A contract to read from the marketplace, because the event left something out. */
  contractToRead: string | null;
  /** Whether only the lists of the whole install tell what the event means. */
  isInstallToRead: boolean;
  /** Whether a payment may be due now, or no longer. */
  isMoneyToRead: boolean;
}

function noEvidence(): EventEvidence {
  return { evidence: emptyEvidence(), contractToRead: null, isInstallToRead: false, isMoneyToRead: false };
}

interface EventContext {
  install: string;
  /** When it happened, by the marketplace. */
  at: string;
  receivedAt: string;
  /** Whether the event is so old that it gives no access until a read confirms it. */
  isStale: boolean;
}

/** Only a list names the contracts of a link. An approval names no contract and may have been declined. */
const readWhole: ReadonlySet<EventType> = new Set(['project_link.created', 'approval.confirmed']);

/** After these the list of due payments is read. */
const aboutPayments: ReadonlySet<EventType> = new Set(['milestone.status_changed', 'payment.pending']);

/** After these the budget is read. */
const aboutBudget: ReadonlySet<EventType> = new Set([
  'milestone.funded',
  'milestone.budget_low',
  'milestone.budget_depleted',
  'milestone.status_changed',
  'contract.budget_state_changed',
  'payment.pending',
]);

/**
 * The evidence of one event (spec: platform-api.md section 6). It contains only what the event names: a pair needs a
 * record with both contract and link, and is never concluded from a shared job.
 *
 * @param receivedAt replaces a `createdAt` that is missing or in the future
 * @param staleAfterMs how long deliveries are kept; an older event may have been undone since
 */
export function evidenceOfEvent(
  install: string,
  event: LifecycleEvent,
  receivedAt: string,
  staleAfterMs: number,
): EventEvidence {
  const at = earlier(event.createdAt ?? receivedAt, receivedAt);
  const isStale = Date.parse(receivedAt) - Date.parse(at) > staleAfterMs;
  const context = { install, at, receivedAt, isStale };
  const evidence = emptyEvidence();
  addContract(evidence, event, context);
  addLink(evidence, event, context);
  addPeople(evidence, event, context);
  if (event.type === 'install.revoked') {
    const grant = emptyGrant(install, event.resourceId);
    evidence.grants.push({ ...grant, revokedEventAt: at, revokedReceivedAt: receivedAt });
  }
  return {
    evidence,
    contractToRead: findContractToRead(event, context),
    isInstallToRead: readWhole.has(event.type),
    isMoneyToRead: aboutPayments.has(event.type),
  };
}

function earlier(a: string, b: string): string {
  return a < b ? a : b;
}

function addContract(evidence: Evidence, event: LifecycleEvent, context: EventContext): void {
  if (event.contract === null) return;
  const { id, title, startDate } = event.contract;
  const version = versionOfEvent(event.id);
  evidence.contracts.push({
    ...emptyContract(context.install, id),
    ...registerOf(event.type, context),
    title,
    titleVersion: title === null ? null : version,
    startDate,
    startDateVersion: startDate === null ? null : version,
  });
}

function registerOf(type: LifecycleEvent['type'], { at, isStale }: EventContext): Partial<ContractEvidence> {
  if (type === 'contract.started' || type === 'contract.created') return isStale ? {} : { startedEventAt: at };
  if (type === 'contract.ended') return { endedEventAt: at };
  return aboutBudget.has(type) ? { budgetEventAt: at } : {};
}

function addLink(evidence: Evidence, event: LifecycleEvent, context: EventContext): void {
  const { type, link, contract } = event;
  if (link === null) return;
  const { install, at, receivedAt, isStale } = context;
  const { id, ...attributes } = link;
  const { provisioningMode: mode } = attributes;
  const provisioningModeVersion = mode === null ? null : versionOfEvent(event.id);
  const seen = { firstSeenAt: at, seenAt: at };
  const register = type === 'project_link.removed' ? { removedEventAt: receivedAt } : seen;
  evidence.links.push({ ...emptyLink(install, id), ...attributes, provisioningModeVersion, ...register });
  if (contract === null || isStale) return;
  evidence.pairs.push(toPair(install, contract.id, id, at));
}

function addPeople(evidence: Evidence, event: LifecycleEvent, context: EventContext): void {
  const { install, at, isStale } = context;
  const { contract, trainer } = event;
  if (contract === null || trainer === null || trainer.id === null) return;
  const { id: trainerId, displayName, workEmail } = trainer;
  const version = versionOfEvent(event.id);
  if (!isStale) {
    const participation = { install, contractId: contract.id, trainerId };
    evidence.participations.push({ ...participation, seenAt: at, absences: null });
  }
  evidence.people.push({
    install,
    trainerId,
    displayName,
    displayNameVersion: displayName === null ? null : version,
    workEmail,
    workEmailVersion: workEmail === null ? null : version,
    addressMissing: null,
    addressMissingVersion: null,
  });
}

/** The marketplace guarantees few fields. The others that provisioning needs are read. */
function findContractToRead(
  { type, contract, link, trainer }: LifecycleEvent,
  { isStale }: EventContext,
): string | null {
  if (contract === null) return null;
  if (type === 'contract.created') return contract.id;
  if (type !== 'contract.started') return null;
  if (isStale) return contract.id;
  const hasProject = link !== null && link.externalProjectId !== null;
  const hasPerson = trainer !== null && trainer.id !== null && trainer.workEmail !== null;
  return hasProject && hasPerson ? null : contract.id;
}
