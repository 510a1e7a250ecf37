import type { Context } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import type { ContractKey, Evidence } from '../domain/evidence.ts';
import {
  countContractsOf,
  dropPostponed,
  postponeTouchedTrainers,
  takePostponed,
} from '../memberships/derivation-store.ts';
import { type DerivedWork, deriveMemberships, type Origin } from '../memberships/derive-memberships.ts';
import { mergeEvidence } from './evidence-store.ts';
import { type HeldEvidence, holdEvidence } from './hold-evidence.ts';

/** The end of one link can touch any number of trainers, but one transaction must be short. */
const maxTrainersAtOnce = 100;
/** A transaction reads this many participations in a few hundredths of a second. */
export const maxContractsAtOnce = 500;
/** Room that is kept in every transaction for trainers who already wait to be derived. */
const minRoom = maxContractsAtOnce / 5;

export interface AppliedEvidence extends DerivedWork {
  /** The rows that change what follows from them. */
  changed: Evidence;
  /** Evidence that was not taken in. */
  held: HeldEvidence[];
}

/** A trainer that an event names, and the contract that the event is about. */
export interface NamedTrainer extends ContractKey, Origin {
  trainerId: string;
}

/**
 * Merges evidence from any source and derives memberships from it. It derives the trainers that an event names at once.
 * All other trainers wait, and installs take turns: some of them are derived now and the rest in later transactions.
 * Call it inside a transaction that holds `lockEvidence`.
 *
 * @param named few enough for one transaction to derive them all
 */
export async function applyEvidence(
  ctx: Context,
  tx: Transaction,
  evidence: Evidence,
  now: string,
  named: readonly NamedTrainer[] = [],
): Promise<AppliedEvidence> {
  const { kept, held } = await holdEvidence(tx, evidence);
  const changed = await mergeEvidence(ctx, tx, kept);
  await postponeTouchedTrainers(tx, changed, now);
  const first = findTouched(named, changed);
  const trainers = [...first.keys()];
  await dropPostponed(tx, trainers);
  const used = await countContractsOf(tx, trainers);
  const room = maxContractsAtOnce - [...used.values()].reduce((sum, count) => sum + count, 0);
  const others = await takePostponed(ctx, tx, maxTrainersAtOnce, Math.max(room, minRoom));
  const derived = await deriveMemberships(ctx, tx, new Map<string, Origin>([...others, ...first]), now);
  return { ...derived, changed, held };
}

/** By trainer: the first delivery that names them. */
function findTouched(
  named: readonly NamedTrainer[],
  { contracts, pairs, participations, people }: Evidence,
): Map<string, NamedTrainer> {
  const contractKey = (one: Pick<NamedTrainer, 'install' | 'contractId'>) => `${one.install}/${one.contractId}`;
  const trainerKey = (one: Pick<NamedTrainer, 'install' | 'trainerId'>) => `${one.install}/${one.trainerId}`;
  const touched = new Set([...contracts, ...pairs].map(contractKey));
  const trainers = new Set([...participations, ...people].map(trainerKey));
  const first = named.filter((one) => touched.has(contractKey(one)) || trainers.has(trainerKey(one)));
  // The last one of a key counts in a Map, so the first delivery comes last.
  return new Map(first.toReversed().map((one) => [one.trainerId, one]));
}
