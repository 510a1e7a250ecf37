import type { Transaction } from '../db/database.ts';
import type { Evidence } from '../domain/evidence.ts';
import { type DeriveDeps, type DerivedWork, deriveMemberships } from '../memberships/derive-memberships.ts';
import type { EvidenceStore } from './evidence-store.ts';
import { type HeldEvidence, holdEvidence } from './hold-evidence.ts';

export interface ApplyDeps extends DeriveDeps {
  evidence: EvidenceStore;
}

/** What one link's end can touch is not bounded; what one transaction does must be. */
const maxTrainersAtOnce = 100;
/** So many participations are looked at in a few hundredths of a second. */
export const maxContractsAtOnce = 500;
/** Whatever comes in, of those who were left before there is somebody derived too. */
const minRoom = maxContractsAtOnce / 5;

export interface AppliedEvidence extends DerivedWork {
  /** The rows from which something else follows than before. */
  changed: Evidence;
  /** What was not taken in. */
  held: HeldEvidence[];
}

/** A trainer whom an event names, and the contract that it is about. */
export interface NamedTrainer {
  install: string;
  contractId: string;
  trainerId: string;
}

/**
 * Merges evidence, wherever it came from, and derives what follows: for whomever an event names at
 * once, for all others as installs take turns, some now and the rest in later transactions. Call
 * inside a transaction that holds `evidence.lock`.
 *
 * @param named so few that one transaction can derive them all
 */
export async function applyEvidence(
  deps: ApplyDeps,
  tx: Transaction,
  evidence: Evidence,
  now: string,
  named: readonly NamedTrainer[] = [],
): Promise<AppliedEvidence> {
  const { memberships } = deps;
  const { kept, held } = await holdEvidence(tx, evidence);
  const changed = await deps.evidence.merge(tx, kept);
  await deps.evidence.postponeTrainersOf(tx, changed, now);
  const first = findTouched(named, changed);
  await memberships.dropPostponed(tx, first);
  const used = await memberships.countContracts(tx, first);
  const room = maxContractsAtOnce - [...used.values()].reduce((sum, count) => sum + count, 0);
  const others = await memberships.takePostponed(tx, maxTrainersAtOnce, Math.max(room, minRoom));
  const derived = await deriveMemberships(deps, tx, [...first, ...others], now);
  return { ...derived, changed, held };
}

function findTouched(named: readonly NamedTrainer[], { contracts, pairs, participations, people }: Evidence): string[] {
  const contractKey = (one: Omit<NamedTrainer, 'trainerId'>) => `${one.install}/${one.contractId}`;
  const trainerKey = (one: Omit<NamedTrainer, 'contractId'>) => `${one.install}/${one.trainerId}`;
  const touched = new Set([...contracts, ...pairs].map(contractKey));
  const trainers = new Set([...participations, ...people].map(trainerKey));
  const first = named.filter((one) => touched.has(contractKey(one)) || trainers.has(trainerKey(one)));
  return [...new Set(first.map(({ trainerId }) => trainerId))];
}
