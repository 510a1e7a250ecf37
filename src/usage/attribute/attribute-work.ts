import type { ContractKey } from '../../domain/evidence.ts';
import {
  addCounts,
  type Counts,
  type Day,
  type HeldReason,
  isNothing,
  type Moment,
  noCounts,
  type Observation,
  toZeros,
} from '../../domain/usage.ts';
import {
  type ContractCandidate,
  isNegative,
  isOverADay,
  type SharedWork,
  shareWork,
  type WorkShare,
} from './share-work.ts';

/** Work that is due to no contract by itself. */
export interface HeldWork {
  /** Names the work, whatever its counts. */
  key: string;
  /** With the held counts, which may be a part of what was observed. */
  observation: Observation;
  reason: HeldReason;
  /** Contracts that the work may be of. */
  contracts: ContractKey[];
  state: 'held' | 'discarded' | 'assigned';
}

/** What is due for a trainer on a day of a contract, from all sources. */
export interface DueDay extends ContractKey {
  trainerId: string;
  day: Day;
  timeZone: string;
  counts: Counts;
  /** Whether other work of the day is held, so that more may be due. Such a day is not lowered or closed. */
  isPartial: boolean;
  /** The observations in the sum, each with the counts that the contract gets. */
  observations: readonly Observation[];
}

/** What an operator decided about held work. */
export interface HeldWorkDecision {
  /** Null if it is never reported. */
  contract: ContractKey | null;
  /** Why it was held. */
  reason: HeldReason;
}

export interface Attribution {
  /** The contracts that an observation may be of, whenever they ran. */
  candidatesOf(observation: Observation): readonly ContractCandidate[];
  /** The moments of an observation, if `needsMoments`. Empty if they are unknown. */
  momentsOf(observation: Observation): readonly Moment[];
  /** By the key of held work. */
  decisions: ReadonlyMap<string, HeldWorkDecision>;
}

export interface Attributed {
  due: DueDay[];
  held: HeldWork[];
}

/** Pure: assigns each observation to a contract. Work that cannot be assigned or cannot be right is held, never cut. */
export function attributeWork(observations: readonly Observation[], attribution: Attribution): Attributed {
  const tally: Tally = { claims: new Map(), held: [], partial: new Set() };
  for (const observation of observations) tallyOne(tally, observation, attribution);
  return settle(tally);
}

/** Names an observation, whatever its counts. */
export function workKey({ source, workedOn, trainerId, day, isFirstTotal }: Observation): string {
  return JSON.stringify([source, ...Object.values(workedOn), trainerId, day, ...(isFirstTotal ? ['first'] : [])]);
}

/** Names the part of an observation that no contract gets. */
function restKey(observation: Observation): string {
  return `${workKey(observation)} rest`;
}

/** Names the observation of held work, which may be a part of it. */
export function wholeKey(key: string): string {
  return key.replace(/ rest$/, '');
}

/** What the sources have of a trainer's day on a contract. */
interface Claim {
  candidate: ContractCandidate;
  parts: { observation: Observation; counts: Counts }[];
}

interface Tally {
  claims: Map<string, Claim>;
  held: HeldWork[];
  /** Claims to which held work may belong. */
  partial: Set<string>;
}

function tallyOne(tally: Tally, observation: Observation, { candidatesOf, momentsOf, decisions }: Attribution): void {
  const candidates = candidatesOf(observation);
  const decision = decisions.get(workKey(observation));
  if (decision !== undefined) {
    tallyDecided(tally, observation, candidates, decision);
    return;
  }
  const { shares, rest } = shareWork(observation, candidates, momentsOf);
  const begun = begunBy(observation.day, candidates);
  if (rest === null || isNothing(rest.counts) || observation.isTakenBack) {
    addShares(tally, observation, begun, shares);
    return;
  }
  const isWhole = shares.length === 0;
  const left = { ...observation, counts: rest.counts };
  const key = isWhole ? workKey(observation) : restKey(observation);
  const decided = isWhole ? undefined : decisions.get(key);
  const chosen = decided?.contract
    ? [{ candidate: candidateOf(candidates, decided.contract), counts: rest.counts }]
    : [];
  const others = chosen.length > 0 ? candidates : begun;
  if (!isWhole) addShares(tally, observation, others, [...shares, ...chosen]);
  const state = decided === undefined ? 'held' : stateOf(decided);
  tally.held.push({ key, observation: left, reason: rest.reason, contracts: idsOf(candidates), state });
  if (state === 'held') markPartial(tally, observation, candidates);
}

function stateOf({ contract }: Pick<HeldWorkDecision, 'contract'>): HeldWork['state'] {
  return contract === null ? 'discarded' : 'assigned';
}

/** The operator decided about the whole observation. */
function tallyDecided(
  tally: Tally,
  observation: Observation,
  candidates: readonly ContractCandidate[],
  { contract, reason }: HeldWorkDecision,
): void {
  const work = { key: workKey(observation), observation, contracts: idsOf(candidates) };
  if (contract !== null && isNegative(observation.counts)) {
    tally.held.push({ ...work, reason: 'negative', state: 'held' });
    return;
  }
  if (!observation.isTakenBack) tally.held.push({ ...work, reason, state: stateOf({ contract }) });
  if (contract === null) {
    // It may have been reported before it was discarded.
    if (observation.isTakenBack) addShares(tally, observation, begunBy(observation.day, candidates), []);
    return;
  }
  const share = { candidate: candidateOf(candidates, contract), counts: observation.counts };
  addShares(tally, observation, candidates, [share]);
}

/** @param others contracts that get zeros if they have no share, in case the work was reported for them before */
function addShares(
  { claims }: Tally,
  observation: Observation,
  others: readonly ContractCandidate[],
  shares: SharedWork['shares'],
): void {
  for (const share of shares) addTo(claims, observation, share);
  const nothing = { ...observation, isTakenBack: true };
  const counts = toZeros(observation.counts);
  for (const candidate of others) {
    if (shares.some((one) => isSameContract(one.candidate, candidate))) continue;
    addTo(claims, nothing, { candidate, counts });
  }
}

/** Without a decision, work can only have been reported for a contract that had begun. */
function begunBy(day: Day, candidates: readonly ContractCandidate[]): ContractCandidate[] {
  return candidates.filter(({ firstDay }) => firstDay === null || firstDay <= day);
}

function markPartial({ partial }: Tally, observation: Observation, candidates: readonly ContractCandidate[]): void {
  for (const candidate of candidates) partial.add(claimKey(candidate, observation));
}

function addTo(claims: Map<string, Claim>, observation: Observation, { candidate, counts }: WorkShare): void {
  const key = claimKey(candidate, observation);
  const claim = claims.get(key) ?? { candidate, parts: [] };
  claim.parts.push({ observation, counts });
  claims.set(key, claim);
}

function candidateOf(candidates: readonly ContractCandidate[], contract: ContractKey): ContractCandidate {
  const unknown = { firstDay: null, lastDay: null, startsAt: null, endsAt: null, timeZone: 'UTC' };
  return candidates.find((one) => isSameContract(one, contract)) ?? { ...contract, ...unknown };
}

function settle({ claims, held, partial }: Tally): Attributed {
  const due: DueDay[] = [];
  const faulty = new Map<string, HeldWork>();
  for (const [key, claim] of claims) {
    const reason = faultOf(claim);
    if (reason === null) due.push(toDue(claim, partial.has(key)));
    else for (const { observation } of countedParts(claim)) holdOf(faulty, observation, reason, claim.candidate);
  }
  // Faulty work is held whole, whatever was decided about it or a part of it.
  const others = held.filter(({ observation }) => !faulty.has(workKey(observation)));
  return { due, held: [...others, ...faulty.values()] };
}

/** Holds shared work once, even if it is faulty for several contracts. */
function holdOf(
  faulty: Map<string, HeldWork>,
  observation: Observation,
  reason: HeldReason,
  candidate: ContractCandidate,
): void {
  const key = workKey(observation);
  const known = faulty.get(key) ?? { key, observation, reason, contracts: [], state: 'held' };
  faulty.set(key, { ...known, contracts: [...known.contracts, ...idsOf([candidate])] });
}

function countedParts({ parts }: Claim): Claim['parts'] {
  return parts.filter(({ observation, counts }) => !observation.isTakenBack && !isNothing(counts));
}

function faultOf(claim: Claim): HeldReason | null {
  const kinds = new Set(countedParts(claim).map(({ observation }) => kindOf(observation)));
  if (kinds.size > 1) return 'two_sources';
  return isOverADay(sumOf(claim.parts)) ? 'over_a_day' : null;
}

/** A file by contract and another by project may have the same work. */
function kindOf({ source, workedOn }: Observation): string {
  return source.startsWith('import:') ? `import by ${workedOn.by}` : 'tool';
}

function toDue({ candidate, parts }: Claim, isPartial: boolean): DueDay {
  const { install, contractId, timeZone } = candidate;
  const [first] = parts;
  const { trainerId, day } = first?.observation ?? { trainerId: '', day: '' };
  const observations = parts.map(({ observation, counts }) => ({ ...observation, counts }));
  return { install, contractId, trainerId, day, timeZone, counts: sumOf(parts), isPartial, observations };
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

function idsOf(candidates: readonly ContractCandidate[]): ContractKey[] {
  return candidates.map(({ install, contractId }) => ({ install, contractId }));
}
