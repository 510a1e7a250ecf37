import { type ContractKey, type Evidence, emptyEvidence } from '../domain/evidence.ts';
import type { DueDelivery } from '../inbox/due-store.ts';
import { readEvent } from '../inbox/event-schema.ts';
import { openBody, type Unread } from '../inbox/inbox-store.ts';
import type { Storage } from '../keys/storage.ts';
import type { NamedTrainer } from './apply-evidence.ts';
import { evidenceOfEvent } from './evidence-of-event.ts';

/** A stored delivery and its evidence. */
export interface ReadDelivery {
  id: number;
  install: string;
  receivedAt: string;
  evidence: Evidence;
  /** The trainer that it names; at most one. */
  named: NamedTrainer[];
  /** Contracts that must be read because the event left something out. */
  toRead: ContractKey[];
  isInstallToRead: boolean;
  isMoneyToRead: boolean;
  /** Why it could not be read as an event; null if it could. */
  unread: Unread | null;
}

/** @throws AppError `internal` if the stored body cannot be decrypted */
export function readDelivery(ctx: Storage, delivery: DueDelivery, staleAfterMs: number): ReadDelivery {
  const { id, install, receivedAt } = delivery;
  const read = readEvent(openBody(ctx, delivery));
  if (read.outcome !== 'event') {
    const added = { evidence: emptyEvidence(), named: [], toRead: [], isInstallToRead: false, isMoneyToRead: false };
    return { id, install, receivedAt, ...added, unread: read };
  }
  const added = evidenceOfEvent(install, read.event, receivedAt, staleAfterMs);
  const { evidence, contractToRead: contractId, isInstallToRead, isMoneyToRead } = added;
  return {
    id,
    install,
    receivedAt,
    evidence,
    isInstallToRead,
    isMoneyToRead,
    unread: null,
    named: evidence.people.flatMap(({ trainerId }) =>
      evidence.contracts.map((contract) => ({
        install,
        contractId: contract.contractId,
        trainerId,
        receivedAt,
      })),
    ),
    toRead: contractId === null ? [] : [{ install, contractId }],
  };
}

/** Joins the evidence of several deliveries. */
export function collectDeliveries(deliveries: readonly ReadDelivery[]) {
  const toRead = deliveries.flatMap((delivery) => delivery.toRead);
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
