import { addCounts, type Counts, type Day, type Moment, noCounts, type Sighting, toZeros } from '../../domain/usage.ts';
import { type Candidate, runningOn } from './candidate.ts';
import { type HeldReason, isNegative, isOverADay, shareWork } from './share-work.ts';
import type { Share } from './split-day.ts';

export interface HeldWork {
  sighting: Sighting;
  reason: HeldReason;
  /** Contracts that it may be of. */
  contracts: ContractKey[];
}

/** What is due for one trainer on one day of one contract, of all sources and places together. */
export interface DueDay {
  install: string;
  contractId: string;
  trainerId: string;
  day: Day;
  timeZone: string;
  counts: Counts;
  /** What it is the sum of, where that was asked for: of work that was split, its share. */
  sightings?: readonly Sighting[];
  /** Whether more may be due, as other work of the day is held: it says nothing that lowers. */
  isPartial?: true;
}

/** What an operator said of held work: which contract all of it is of, or null: of none. */
export type Decision = { install: string; contractId: string } | null;

export interface Attribution {
  /** The contracts that a sighting may be of, whatever their days. */
  candidatesOf(sighting: Sighting): readonly Candidate[];
  /** What it was made of, of those days of which `isSplit` is true; nothing where nobody knows. */
  momentsOf(sighting: Sighting): readonly Moment[];
  /** By `workKey`. */
  decisions: ReadonlyMap<string, Decision>;
  /** Whether what is due is to say what it is the sum of: for a receipt, and not for everybody. */
  keepsSightings?: boolean;
}

export interface Attributed {
  due: DueDay[];
  held: HeldWork[];
}

/**
 * Pure: which contract each sighting is of. What cannot be told, or cannot be right, is held and
 * never cut to fit.
 */
export function attributeWork(sightings: readonly Sighting[], attribution: Attribution): Attributed {
  const tally: Tally = { claims: new Map(), held: [], partial: new Set() };
  for (const sighting of sightings) {
    const decision = attribution.decisions.get(workKey(sighting));
    if (decision !== null) tallyOne(tally, sighting, attribution, decision);
  }
  return settle(tally, attribution);
}

/** What names a sighting for as long as there is one, whatever its counts. */
export function workKey({ source, place, trainerId, day }: Sighting): string {
  return JSON.stringify([source, ...Object.values(place), trainerId, day]);
}

/** What is told of one trainer's day on one contract. */
interface Claim {
  candidate: Candidate;
  told: { sighting: Sighting; counts: Counts }[];
}

interface Tally {
  claims: Map<string, Claim>;
  held: HeldWork[];
  /** The claims that held work may belong to as well. */
  partial: Set<string>;
}

function tallyOne(
  { claims, held, partial }: Tally,
  sighting: Sighting,
  { candidatesOf, momentsOf }: Attribution,
  decision: NonNullable<Decision> | undefined,
): void {
  const candidates = candidatesOf(sighting);
  const shares =
    decision === undefined ? shareWork(sighting, candidates, momentsOf) : assignAll(sighting, candidates, decision);
  if (typeof shares !== 'string') {
    for (const share of shares) addTo(claims, sighting, share);
    const nothing = { ...sighting, isTakenBack: true };
    for (const share of nothingFor(sighting, candidates, shares)) addTo(claims, nothing, share);
  } else if (sighting.isTakenBack !== true) {
    held.push({ sighting, reason: shares, contracts: idsOf(candidates) });
    const mayHave = runningOn(candidates, sighting.day, { withGrace: true });
    for (const candidate of mayHave) partial.add(claimKey(candidate, sighting));
  }
}

function addTo(claims: Map<string, Claim>, sighting: Sighting, { candidate, counts }: Share): void {
  const key = claimKey(candidate, sighting);
  const claim = claims.get(key) ?? { candidate, told: [] };
  claim.told.push({ sighting, counts });
  claims.set(key, claim);
}

/** The whole day, also where it could be split. */
function assignAll(
  { counts }: Sighting,
  candidates: readonly Candidate[],
  decision: NonNullable<Decision>,
): Share[] | HeldReason {
  if (isNegative(counts)) return 'negative';
  const chosen = candidates.find((one) => isSameContract(one, decision));
  const unknown = { firstDay: null, lastDay: null, startsAt: null, endsAt: null };
  return [{ candidate: chosen ?? { ...decision, ...unknown, timeZone: 'UTC' }, counts }];
}

/** Whoever else it may have been given to, before all of this was known, has nothing of it. */
function nothingFor({ day, counts }: Sighting, candidates: readonly Candidate[], shares: readonly Share[]): Share[] {
  return candidates
    .filter(({ firstDay }) => firstDay === null || firstDay <= day)
    .filter((one) => !shares.some(({ candidate }) => isSameContract(one, candidate)))
    .map((candidate) => ({ candidate, counts: toZeros(counts) }));
}

function settle({ claims, held, partial }: Tally, attribution: Attribution): Attributed {
  const due: DueDay[] = [];
  const faulty = new Map<Sighting, HeldWork>();
  for (const [key, all] of claims) {
    const claim = withoutTakenBack(all);
    const reason = faultOf(claim);
    if (reason === null) due.push(toDue(claim, partial.has(key), attribution));
    else for (const { sighting } of claim.told) holdOf(faulty, sighting, reason, claim.candidate);
  }
  return { due, held: [...held, ...faulty.values()] };
}

/** Work that was split is held once, whichever of its contracts it is held for. */
function holdOf(faulty: Map<Sighting, HeldWork>, sighting: Sighting, reason: HeldReason, candidate: Candidate): void {
  const known = faulty.get(sighting) ?? { sighting, reason, contracts: [] };
  faulty.set(sighting, { ...known, contracts: [...known.contracts, ...idsOf([candidate])] });
}

/** What was taken back says that there is nothing, unless another says that there is something. */
function withoutTakenBack(claim: Claim): Claim {
  const standing = claim.told.filter(({ sighting }) => !sighting.isTakenBack);
  return standing.length === 0 ? claim : { ...claim, told: standing };
}

function faultOf({ told }: Claim): HeldReason | null {
  const standing = told.filter(({ sighting }) => !sighting.isTakenBack);
  const kinds = new Set(standing.map(({ sighting }) => kindOf(sighting)));
  if (kinds.size > 1) return 'two_sources';
  return isOverADay(sumOf(told)) ? 'over_a_day' : null;
}

/** Of files, one may tell of a contract and another of a project, and mean the same work. */
function kindOf({ source, place }: Sighting): string {
  return source.startsWith('import:') ? `import by ${place.by}` : 'tool';
}

function toDue({ candidate, told }: Claim, isPartial: boolean, { keepsSightings = false }: Attribution): DueDay {
  const { install, contractId, timeZone } = candidate;
  const [first] = told;
  const { trainerId, day } = first?.sighting ?? { trainerId: '', day: '' };
  return {
    install,
    contractId,
    trainerId,
    day,
    timeZone,
    counts: sumOf(told),
    ...(isPartial && { isPartial }),
    ...(keepsSightings && {
      sightings: told.map(({ sighting, counts }) => ({ ...sighting, counts })),
    }),
  };
}

function sumOf(told: Claim['told']): Counts {
  return told.reduce((sum, { counts }) => addCounts(sum, counts), noCounts);
}

function claimKey({ install, contractId }: ContractKey, { trainerId, day }: Sighting): string {
  return JSON.stringify([install, contractId, trainerId, day]);
}

type ContractKey = Pick<Candidate, 'install' | 'contractId'>;

function isSameContract(a: ContractKey, b: ContractKey): boolean {
  return a.contractId === b.contractId && a.install === b.install;
}

function idsOf(candidates: readonly Candidate[]): HeldWork['contracts'] {
  return candidates.map(({ install, contractId }) => ({ install, contractId }));
}
