import type { Transaction } from '../db/database.ts';
import type { Evidence, PairEvidence, ParticipationEvidence } from '../domain/evidence.ts';
import { countHires } from '../inbox/storage-store.ts';
import { type BoundedSubject, countStored, type EvidenceBound, findNewRows, subjectKey } from './bound-store.ts';

/**
 * How much one install may say, also about one contract or one trainer. Every entry makes each later derivation slower,
 * for ever and for all installs. The bounds are many times what a marketplace has: a contract is one hire, and a trainer
 * has a few contracts a year.
 */
const bounds: Record<EvidenceBound, number> = {
  hires_of_install: 120_000,
  trainers_of_contract: 1000,
  contracts_of_trainer: 500,
  links_of_contract: 10,
};

/** Evidence that is not taken in because it exceeds a bound. */
export interface HeldEvidence {
  bound: EvidenceBound;
  install: string;
  contractId: string;
  /** The trainer or the link that exceeds it. */
  trainerId?: string;
  linkId?: string;
}

/**
 * Leaves out evidence that exceeds a bound. Known rows keep being updated, and ends are taken in. So left-out evidence
 * neither removes a trainer nor keeps one in. New hires count towards what the install has stored.
 */
export async function holdEvidence(
  tx: Transaction,
  evidence: Evidence,
): Promise<{ kept: Evidence; held: HeldEvidence[] }> {
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
