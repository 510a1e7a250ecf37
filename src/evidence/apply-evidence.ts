import type { Context } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import type { ContractKey, Evidence, PairEvidence, ParticipationEvidence } from '../domain/evidence.ts';
import { countHires } from '../inbox/storage-store.ts';
import { remembered } from '../lib/remembered.ts';
import {
  countContractsOf,
  dropPostponed,
  postponeTouchedTrainers,
  takePostponed,
} from '../memberships/derivation-store.ts';
import { type DerivedWork, deriveMemberships, type Origin } from '../memberships/derive-memberships.ts';
import {
  type BoundedSubject,
  countStored,
  type EvidenceBound,
  findNewRows,
  mergeEvidence,
  subjectKey,
} from './evidence-store.ts';

/** Keeps transactions short, because the end of a link may affect any number of trainers. */
const maxTrainersAtOnce = 100;
/** A transaction reads so many participations in a few hundredths of a second. */
export const maxContractsAtOnce = 500;
/** Room in every transaction for trainers who already wait to be derived. */
const minRoom = maxContractsAtOnce / 5;

interface AppliedEvidence extends DerivedWork {
  /** The rows whose meaning has changed. */
  changed: Evidence;
  held: HeldEvidence[];
}

/** A trainer that an event names, and the contract that the event is about. */
export interface NamedTrainer extends ContractKey, Origin {
  trainerId: string;
}

/**
 * Merges evidence from any source and derives memberships from it. Trainers whom an event names are derived at once.
 * For all others installs take turns: some are derived now and the rest in later transactions. Call it inside a
 * transaction that holds `lockEvidence`.
 *
 * @param named few enough to be derived in one transaction
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

/** The named trainers whom a change affects, each with the first delivery that names them. */
function findTouched(
  named: readonly NamedTrainer[],
  { contracts, pairs, participations, people }: Evidence,
): Map<string, NamedTrainer> {
  const contractKey = (one: Pick<NamedTrainer, 'install' | 'contractId'>) => `${one.install}/${one.contractId}`;
  const trainerKey = (one: Pick<NamedTrainer, 'install' | 'trainerId'>) => `${one.install}/${one.trainerId}`;
  const touched = new Set([...contracts, ...pairs].map(contractKey));
  const trainers = new Set([...participations, ...people].map(trainerKey));
  const first = named.filter((one) => touched.has(contractKey(one)) || trainers.has(trainerKey(one)));
  // A Map keeps the last entry of a key.
  return new Map(first.toReversed().map((one) => [one.trainerId, one]));
}

/**
 * How many rows one install may add, also about one contract or one trainer. Every row slows down all later
 * derivations, for all installs. The bounds are far above real numbers: a contract is one hire, and a trainer has a few
 * contracts a year.
 */
const bounds: Record<EvidenceBound, number> = {
  hires_of_install: 120_000,
  trainers_of_contract: 1000,
  contracts_of_trainer: 500,
  links_of_contract: 10,
};

/** Evidence that is left out because it exceeds a bound. */
export interface HeldEvidence {
  bound: EvidenceBound;
  install: string;
  contractId: string;
  /** The trainer or link that exceeds it. */
  trainerId?: string;
  linkId?: string;
}

/**
 * Leaves out evidence that exceeds a bound. Known rows are still updated, and ends are taken in, so that left-out
 * evidence neither removes a trainer nor keeps one in. New hires count as storage of the install.
 */
async function holdEvidence(tx: Transaction, evidence: Evidence): Promise<{ kept: Evidence; held: HeldEvidence[] }> {
  const participations = await holdParticipations(tx, evidence.participations);
  const pairs = await holdPairs(tx, evidence.pairs);
  const held = [...participations, ...pairs];
  if (held.length === 0) return { kept: evidence, held };
  const left = new Set(held.map(evidenceKey));
  const kept = {
    ...evidence,
    participations: evidence.participations.filter((one) => !left.has(evidenceKey(one))),
    pairs: evidence.pairs.filter((one) => !left.has(evidenceKey(one))),
  };
  return { kept, held };
}

/** Explains the hold to an operator. */
export function describeHold({ bound, install, contractId, trainerId }: HeldEvidence): string {
  const [what, of] = {
    hires_of_install: ['hires', `install ${install}`],
    trainers_of_contract: ['trainers', `contract ${contractId}`],
    contracts_of_trainer: ['contracts', `trainer ${trainerId}`],
    links_of_contract: ['links', `contract ${contractId}`],
  }[bound];
  return `Held: there are ${bounds[bound]} ${what} of the ${of} already`;
}

/** The same key for a row and for its held evidence. */
export function evidenceKey({ install, contractId, ...row }: Omit<HeldEvidence, 'bound'>): string {
  return JSON.stringify([install, contractId, row.trainerId ?? null, row.linkId ?? null]);
}

async function holdParticipations(tx: Transaction, rows: ParticipationEvidence[]): Promise<HeldEvidence[]> {
  const added = distinct(await findNewRows(tx, 'participation', ['install', 'contractId', 'trainerId'], rows));
  const onContract = await createCount(tx, 'trainers_of_contract', added.map(toContract));
  const ofTrainer = await createCount(tx, 'contracts_of_trainer', added.map(toTrainer));
  const ofInstall = await createCount(tx, 'hires_of_install', added.map(toInstall));
  const hires: string[] = [];
  const held = added.flatMap((one) => {
    const { install, contractId, trainerId } = one;
    const counts = [
      [onContract, toContract(one)],
      [ofTrainer, toTrainer(one)],
      [ofInstall, toInstall(one)],
    ] as const;
    const full = counts.find(([count, subject]) => count.isFull(subject));
    if (full !== undefined) return [{ bound: full[0].bound, install, contractId, trainerId }];
    for (const [count, subject] of counts) count.add(subject);
    hires.push(install);
    return [];
  });
  await countHires(tx, hires);
  return held;
}

async function holdPairs(tx: Transaction, rows: PairEvidence[]): Promise<HeldEvidence[]> {
  const added = distinct(await findNewRows(tx, 'contractLink', ['install', 'contractId', 'linkId'], rows));
  const ofContract = await createCount(tx, 'links_of_contract', added.map(toContract));
  return added.flatMap((one) => {
    const { install, contractId, linkId } = one;
    if (ofContract.isFull(toContract(one))) return [{ bound: ofContract.bound, install, contractId, linkId }];
    ofContract.add(toContract(one));
    return [];
  });
}

async function createCount(tx: Transaction, bound: EvidenceBound, of: readonly BoundedSubject[]) {
  const each = [...new Map(of.map((one) => [subjectKey(one), one])).values()];
  const counts = await countStored(tx, bound, each);
  const countOf = (one: BoundedSubject) => counts.get(subjectKey(one)) ?? 0;
  return {
    bound,
    isFull: (one: BoundedSubject) => countOf(one) >= bounds[bound],
    add: (one: BoundedSubject) => void counts.set(subjectKey(one), countOf(one) + 1),
  };
}

function distinct<Row extends Omit<HeldEvidence, 'bound'>>(rows: readonly Row[]): Row[] {
  return [...new Map(rows.map((row) => [evidenceKey(row), row])).values()];
}

function toInstall({ install }: ParticipationEvidence): BoundedSubject {
  return { install, id: install };
}

function toContract({ install, contractId }: { install: string; contractId: string }): BoundedSubject {
  return { install, id: contractId };
}

function toTrainer({ install, trainerId }: ParticipationEvidence): BoundedSubject {
  return { install, id: trainerId };
}

/** How many alerts are remembered. A repeated alert does no harm. */
const maxReported = 10_000;
const heldQuietMs = 3_600_000;

/** Raises one alert an hour for each contract or trainer, however often more evidence of it is held. */
export function reportHeld({ database, alerts, clock }: Context, held: readonly HeldEvidence[]): void {
  const reported = remembered(database, 'when held evidence was reported', () => new Map<string, number>());
  for (const one of held) {
    const { install } = one;
    const subject = subjectOfHeld(one);
    const [key, now] = [JSON.stringify([install, subject]), clock.now().getTime()];
    if (Math.abs(now - (reported.get(key) ?? Number.NEGATIVE_INFINITY)) < heldQuietMs) continue;
    if (reported.size >= maxReported) reported.clear();
    reported.set(key, now);
    alerts.raise('evidence_held', { install, ...subject, reason: describeHold(one) });
  }
}

/** The contract or trainer that exceeds the bound. Empty if it is the install. */
export function subjectOfHeld({ bound, contractId, trainerId }: HeldEvidence): object {
  if (bound === 'hires_of_install') return {};
  return bound === 'contracts_of_trainer' ? { trainer: trainerId } : { contract: contractId };
}
