import type { Transaction } from '../db/database.ts';
import type { Evidence } from '../domain/evidence.ts';
import { type DeriveDeps, type Derived, deriveMemberships } from './derive-memberships.ts';
import type { EvidenceStore } from './evidence-store.ts';

export interface ApplyDeps extends DeriveDeps {
  evidence: EvidenceStore;
}

/** What one link's end can touch is not bounded; what one transaction does must be. */
const maxTrainersAtOnce = 100;

export interface Applied extends Derived {
  /** Whether trainers were left for another transaction. */
  isUnfinished: boolean;
  /** The rows from which something else follows than before. */
  changed: Evidence;
}

/**
 * Merges evidence, wherever it came from, and derives what follows, for these trainers and for some
 * of those that were left before. Call inside a transaction that holds `evidence.lock`.
 */
export async function applyEvidence(
  deps: ApplyDeps,
  tx: Transaction,
  evidence: Evidence,
  now: string,
): Promise<Applied> {
  const { memberships } = deps;
  const changed = await deps.evidence.merge(tx, evidence);
  const touched = await deps.evidence.trainersOf(tx, changed);
  await deps.evidence.postponeTrainersOf(tx, changed);
  const later = touched.slice(maxTrainersAtOnce);
  if (later.length > 0) await memberships.postponeDerivation(tx, later);
  await memberships.dropPostponed(tx, touched.slice(0, maxTrainersAtOnce));
  const room = maxTrainersAtOnce - Math.min(touched.length, maxTrainersAtOnce);
  const earlier = room > 0 ? await memberships.takePostponed(tx, room) : [];
  const trainerIds = [...new Set([...touched.slice(0, maxTrainersAtOnce), ...earlier])];
  const derived = await deriveMemberships(deps, tx, trainerIds, now);
  return {
    ...derived,
    changed,
    isUnfinished: later.length > 0 || earlier.length === room,
  };
}
