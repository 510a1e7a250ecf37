import type { LifecycleEvent } from '../domain/event.ts';
import {
  type ContractEvidence,
  type Evidence,
  emptyContract,
  emptyEvidence,
  emptyLink,
  versionOfEvent,
} from '../domain/evidence.ts';

export interface EventEvidence {
  evidence: Evidence;
  /** A contract about which the event left something to be asked of the marketplace. */
  contractToRead: string | null;
}

/**
 * What one event adds (spec: platform-api.md section 6). Only what it names: a pair comes from a
 * record that holds both contract and link, never from sharing a job.
 *
 * @param receivedAt stands in for `createdAt` where that is missing or lies in the future
 */
export function evidenceOfEvent(
  install: string,
  event: LifecycleEvent,
  receivedAt: string,
): EventEvidence {
  const at = earlier(event.createdAt ?? receivedAt, receivedAt);
  const evidence = emptyEvidence();
  addContract(evidence, install, event, at);
  addLink(evidence, install, event, at);
  addPeople(evidence, install, event, at);
  if (event.type === 'install.revoked') {
    evidence.grants.push({ install, grantId: event.resourceId, revokedEventAt: at });
  }
  return { evidence, contractToRead: findContractToRead(event) };
}

function earlier(a: string, b: string): string {
  return a < b ? a : b;
}

function addContract(evidence: Evidence, install: string, event: LifecycleEvent, at: string): void {
  if (event.contract === null) return;
  const { id, title } = event.contract;
  const titleVersion = title === null ? null : versionOfEvent(event.id);
  const said = {
    ...emptyContract(install, id),
    ...registerOf(event.type, at),
    title,
    titleVersion,
  };
  evidence.contracts.push(said);
}

function registerOf(type: LifecycleEvent['type'], at: string): Partial<ContractEvidence> {
  if (type === 'contract.started') return { startedEventAt: at };
  if (type === 'contract.ended') return { endedEventAt: at };
  return type.startsWith('milestone.') ? { budgetEventAt: at } : {};
}

function addLink(evidence: Evidence, install: string, event: LifecycleEvent, at: string): void {
  const { type, link, contract } = event;
  if (link === null) return;
  const { id, ...attributes } = link;
  const removedEventAt = type === 'project_link.removed' ? at : null;
  evidence.links.push({ ...emptyLink(install, id), ...attributes, removedEventAt });
  if (contract === null) return;
  evidence.pairs.push({ install, contractId: contract.id, linkId: id });
}

function addPeople(evidence: Evidence, install: string, event: LifecycleEvent, at: string): void {
  const { contract, trainer } = event;
  if (contract === null || trainer === null || trainer.id === null) return;
  const { id: trainerId, displayName, workEmail } = trainer;
  const version = versionOfEvent(event.id);
  evidence.participations.push({ install, contractId: contract.id, trainerId, seenAt: at });
  evidence.people.push({
    install,
    trainerId,
    displayName,
    displayNameVersion: displayName === null ? null : version,
    workEmail,
    workEmailVersion: workEmail === null ? null : version,
  });
}

/** Part B guarantees little: whatever provisioning needs beyond it is read. */
function findContractToRead({ type, contract, link, trainer }: LifecycleEvent): string | null {
  if (contract === null || type !== 'contract.started') return null;
  const hasPlace = link !== null && link.externalProjectId !== null;
  const hasPerson = trainer !== null && trainer.id !== null && trainer.workEmail !== null;
  return hasPlace && hasPerson ? null : contract.id;
}
