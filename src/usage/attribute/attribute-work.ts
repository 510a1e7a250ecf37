import {
  addCounts,
  type Counts,
  countNames,
  type Day,
  noCounts,
  type Sighting,
} from '../../domain/usage.ts';
import { addDays } from '../../lib/add-days.ts';

/** A contract to which work at some place may belong, for one trainer. */
export interface Candidate {
  install: string;
  contractId: string;
  /** In which its days are counted. */
  timeZone: string;
  /** Null where it is not known, which excludes nothing. */
  firstDay: Day | null;
  /** Null while it goes on. */
  lastDay: Day | null;
}

/** Why work is not reported until somebody decides. */
export type HeldReason =
  | 'no_contract'
  | 'before_start'
  | 'after_end'
  | 'several_contracts'
  | 'two_sources'
  | 'over_a_day'
  | 'negative';

export interface HeldWork {
  sighting: Sighting;
  reason: HeldReason;
  /** Contracts that it may be of. */
  contracts: Pick<Candidate, 'install' | 'contractId'>[];
}

/** What is due for one trainer on one day of one contract, of all sources and places together. */
export interface DueDay {
  install: string;
  contractId: string;
  trainerId: string;
  day: Day;
  timeZone: string;
  counts: Counts;
}

/** What an operator said of held work: which contract it is of, or null: of none. */
export type Decision = { install: string; contractId: string } | null;

export interface Attribution {
  /** The contracts that a sighting may be of, whatever their days. */
  candidatesOf(sighting: Sighting): readonly Candidate[];
  /** By `workKey`. */
  decisions: ReadonlyMap<string, Decision>;
}

export interface Attributed {
  due: DueDay[];
  held: HeldWork[];
}

const secondsOfDay = 86_400;
/** What was saved late, on the day after the end. */
const graceDays = 1;

/**
 * Pure: which contract each sighting is of. What cannot be told, or cannot be right, is held and
 * never cut to fit.
 */
export function attributeWork(
  sightings: readonly Sighting[],
  { candidatesOf, decisions }: Attribution,
): Attributed {
  const held: HeldWork[] = [];
  const claims = new Map<string, Claim>();
  for (const sighting of sightings) {
    const decision = decisions.get(workKey(sighting));
    if (decision === null) continue;
    const candidates = candidatesOf(sighting);
    const told = decideOne(sighting, candidates, decision);
    if ('reason' in told) {
      held.push({ sighting, reason: told.reason, contracts: idsOf(candidates) });
      continue;
    }
    const key = JSON.stringify([told.install, told.contractId, sighting.trainerId, sighting.day]);
    const claim = claims.get(key) ?? { candidate: told, sightings: [] };
    claim.sightings.push(sighting);
    claims.set(key, claim);
  }
  const due: DueDay[] = [];
  for (const claim of [...claims.values()].map(withoutTakenBack)) {
    const reason = faultOf(claim);
    const contracts = idsOf([claim.candidate]);
    if (reason === null) due.push(toDue(claim));
    else held.push(...claim.sightings.map((sighting) => ({ sighting, reason, contracts })));
  }
  return { due, held: held.filter(({ sighting }) => !sighting.isTakenBack) };
}

/** What names a sighting for as long as there is one, whatever its counts. */
export function workKey({ source, place, trainerId, day }: Sighting): string {
  return JSON.stringify([source, ...Object.values(place), trainerId, day]);
}

interface Claim {
  candidate: Candidate;
  sightings: Sighting[];
}

function decideOne(
  { day, counts }: Sighting,
  candidates: readonly Candidate[],
  decision: Decision | undefined,
): Candidate | { reason: HeldReason } {
  if (countNames.some((name) => (counts[name] ?? 0) < 0)) return { reason: 'negative' };
  if (decision) {
    const { install, contractId } = decision;
    const chosen = candidates.find(
      (one) => one.install === install && one.contractId === contractId,
    );
    return chosen ?? { ...decision, timeZone: 'UTC', firstDay: null, lastDay: null };
  }
  const active = candidates.filter((one) => isWithin(one, day, 0));
  const open =
    active.length > 0 ? active : candidates.filter((one) => isWithin(one, day, graceDays));
  const [only] = open;
  if (only !== undefined) return open.length === 1 ? only : { reason: 'several_contracts' };
  if (candidates.length === 0) return { reason: 'no_contract' };
  const isEarly = candidates.some(({ firstDay }) => firstDay !== null && day < firstDay);
  return { reason: isEarly ? 'before_start' : 'after_end' };
}

function isWithin({ firstDay, lastDay }: Candidate, day: Day, grace: number): boolean {
  const isEarly = firstDay !== null && day < firstDay;
  return !isEarly && (lastDay === null || day <= addDays(lastDay, grace));
}

/** What was taken back says that there is nothing, unless another says that there is something. */
function withoutTakenBack(claim: Claim): Claim {
  const standing = claim.sightings.filter(({ isTakenBack }) => !isTakenBack);
  return standing.length === 0 ? claim : { ...claim, sightings: standing };
}

function faultOf({ sightings }: Claim): HeldReason | null {
  const kinds = new Set(sightings.map(kindOf));
  if (kinds.size > 1) return 'two_sources';
  return (sumOf(sightings).seconds ?? 0) > secondsOfDay ? 'over_a_day' : null;
}

/** Of files, one may tell of a contract and another of a project, and mean the same work. */
function kindOf({ source, place }: Sighting): string {
  return source.startsWith('import:') ? `import by ${place.by}` : 'tool';
}

function toDue({ candidate, sightings }: Claim): DueDay {
  const { install, contractId, timeZone } = candidate;
  const [{ trainerId, day } = { trainerId: '', day: '' }] = sightings;
  return { install, contractId, trainerId, day, timeZone, counts: sumOf(sightings) };
}

function sumOf(sightings: readonly Sighting[]): Counts {
  return sightings.reduce((sum, { counts }) => addCounts(sum, counts), noCounts);
}

function idsOf(candidates: readonly Candidate[]): HeldWork['contracts'] {
  return candidates.map(({ install, contractId }) => ({ install, contractId }));
}
