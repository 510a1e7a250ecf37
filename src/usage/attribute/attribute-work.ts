import type { ContractKey } from '../../domain/evidence.ts';
import {
  addCounts,
  type Counts,
  type Day,
  type Moment,
  noCounts,
  type Observation,
  toZeros,
} from '../../domain/usage.ts';
import { type ContractCandidate, runningOn } from './candidate.ts';
import { type HeldReason, isNegative, isOverADay, shareWork } from './share-work.ts';
import type { WorkShare } from './split-day.ts';

export interface HeldWork {
  observation: Observation;
  reason: HeldReason;
  /** Contracts that the work may be of. */
  contracts: ContractKey[];
}

/** What is due for one trainer on one day of one contract, summed over all sources. */
export interface DueDay {
  install: string;
  contractId: string;
  trainerId: string;
  day: Day;
  timeZone: string;
  counts: Counts;
  /** The observations that it is the sum of, where asked for. Of work that was split, only the share. */
  observations?: readonly Observation[];
  /** Whether other work of the day is held, so that more may be due. Such a day lowers nothing. */
  isPartial?: true;
}

/** What an operator decided about held work: the contract that all of it is of, or null for none. */
export type HeldWorkDecision = { install: string; contractId: string } | null;

export interface Attribution {
  /** The contracts that an observation may be of, whatever their days. */
  candidatesOf(observation: Observation): readonly ContractCandidate[];
  /** The moments of an observation, for days on which `isSplit` is true. Empty where they are not known. */
  momentsOf(observation: Observation): readonly Moment[];
  /** By `workKey`. */
  decisions: ReadonlyMap<string, HeldWorkDecision>;
  /** Whether a due day keeps its observations. Only a receipt needs them. */
  keepsObservations?: boolean;
}

export interface Attributed {
  due: DueDay[];
  held: HeldWork[];
}

/**
 * Assigns each observation to a contract. Pure. What cannot be assigned, or cannot be right, is held and never cut to
 * fit.
 */
export function attributeWork(observations: readonly Observation[], attribution: Attribution): Attributed {
  const tally: Tally = { claims: new Map(), held: [], partial: new Set() };
  for (const observation of observations) {
    const decision = attribution.decisions.get(workKey(observation));
    if (decision !== null) tallyOne(tally, observation, attribution, decision);
  }
  return settle(tally, attribution);
}

/** Names an observation for as long as it exists, whatever its counts. */
export function workKey({ source, workedOn, trainerId, day }: Observation): string {
  return JSON.stringify([source, ...Object.values(workedOn), trainerId, day]);
}

/** What the sources say of one trainer's day on one contract. */
interface Claim {
  candidate: ContractCandidate;
  parts: { observation: Observation; counts: Counts }[];
}

interface Tally {
  claims: Map<string, Claim>;
  held: HeldWork[];
  /** The claims that held work may belong to as well. */
  partial: Set<string>;
}

function tallyOne(
  { claims, held, partial }: Tally,
  observation: Observation,
  { candidatesOf, momentsOf }: Attribution,
  decision: NonNullable<HeldWorkDecision> | undefined,
): void {
  const candidates = candidatesOf(observation);
  const shares =
    decision === undefined
      ? shareWork(observation, candidates, momentsOf)
      : assignAll(observation, candidates, decision);
  if (typeof shares !== 'string') {
    for (const share of shares) addTo(claims, observation, share);
    const nothing = { ...observation, isTakenBack: true };
    for (const share of nothingFor(observation, candidates, shares)) addTo(claims, nothing, share);
  } else if (observation.isTakenBack !== true) {
    held.push({ observation, reason: shares, contracts: idsOf(candidates) });
    const mayHave = runningOn(candidates, observation.day, { withGrace: true });
    for (const candidate of mayHave) partial.add(claimKey(candidate, observation));
  }
}

function addTo(claims: Map<string, Claim>, observation: Observation, { candidate, counts }: WorkShare): void {
  const key = claimKey(candidate, observation);
  const claim = claims.get(key) ?? { candidate, parts: [] };
  claim.parts.push({ observation, counts });
  claims.set(key, claim);
}

/** Assigns the whole day, even where it could be split. */
function assignAll(
  { counts }: Observation,
  candidates: readonly ContractCandidate[],
  decision: NonNullable<HeldWorkDecision>,
): WorkShare[] | HeldReason {
  if (isNegative(counts)) return 'negative';
  const chosen = candidates.find((one) => isSameContract(one, decision));
  const unknown = { firstDay: null, lastDay: null, startsAt: null, endsAt: null };
  return [{ candidate: chosen ?? { ...decision, ...unknown, timeZone: 'UTC' }, counts }];
}

/** The other candidates get zeros, in case the work was reported for them before. */
function nothingFor(
  { day, counts }: Observation,
  candidates: readonly ContractCandidate[],
  shares: readonly WorkShare[],
): WorkShare[] {
  return candidates
    .filter(({ firstDay }) => firstDay === null || firstDay <= day)
    .filter((one) => !shares.some(({ candidate }) => isSameContract(one, candidate)))
    .map((candidate) => ({ candidate, counts: toZeros(counts) }));
}

function settle({ claims, held, partial }: Tally, attribution: Attribution): Attributed {
  const due: DueDay[] = [];
  const faulty = new Map<Observation, HeldWork>();
  for (const [key, all] of claims) {
    const claim = withoutTakenBack(all);
    const reason = faultOf(claim);
    if (reason === null) due.push(toDue(claim, partial.has(key), attribution));
    else for (const { observation } of claim.parts) holdOf(faulty, observation, reason, claim.candidate);
  }
  return { due, held: [...held, ...faulty.values()] };
}

/** Holds split work once, even if it is held for several of its contracts. */
function holdOf(
  faulty: Map<Observation, HeldWork>,
  observation: Observation,
  reason: HeldReason,
  candidate: ContractCandidate,
): void {
  const known = faulty.get(observation) ?? { observation, reason, contracts: [] };
  faulty.set(observation, { ...known, contracts: [...known.contracts, ...idsOf([candidate])] });
}

/** Work that was taken back counts as nothing, unless another observation says that there is some. */
function withoutTakenBack(claim: Claim): Claim {
  const standing = claim.parts.filter(({ observation }) => !observation.isTakenBack);
  return standing.length === 0 ? claim : { ...claim, parts: standing };
}

function faultOf({ parts }: Claim): HeldReason | null {
  const standing = parts.filter(({ observation }) => !observation.isTakenBack);
  const kinds = new Set(standing.map(({ observation }) => kindOf(observation)));
  if (kinds.size > 1) return 'two_sources';
  return isOverADay(sumOf(parts)) ? 'over_a_day' : null;
}

/** One file may name the contract and another the project, and both may mean the same work. */
function kindOf({ source, workedOn }: Observation): string {
  return source.startsWith('import:') ? `import by ${workedOn.by}` : 'tool';
}

function toDue({ candidate, parts }: Claim, isPartial: boolean, { keepsObservations = false }: Attribution): DueDay {
  const { install, contractId, timeZone } = candidate;
  const [first] = parts;
  const { trainerId, day } = first?.observation ?? { trainerId: '', day: '' };
  return {
    install,
    contractId,
    trainerId,
    day,
    timeZone,
    counts: sumOf(parts),
    ...(isPartial && { isPartial }),
    ...(keepsObservations && {
      observations: parts.map(({ observation, counts }) => ({ ...observation, counts })),
    }),
  };
}

function sumOf(parts: Claim['parts']): Counts {
  return parts.reduce((sum, { counts }) => addCounts(sum, counts), noCounts);
}

function claimKey({ install, contractId }: ContractKey, { trainerId, day }: Observation): string {
  return JSON.stringify([install, contractId, trainerId, day]);
}

function isSameContract(a: ContractKey, b: ContractKey): boolean {
  return a.contractId === b.contractId && a.install === b.install;
}

function idsOf(candidates: readonly ContractCandidate[]): HeldWork['contracts'] {
  return candidates.map(({ install, contractId }) => ({ install, contractId }));
}
