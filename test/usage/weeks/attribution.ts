import {
  type ContractFact,
  type Counts,
  firstDayOf,
  isNothing,
  keyOf,
  lastDayOf,
  mapCounts,
  names,
  nothing,
  plus,
  runsAt,
  runsOn,
  zeroed,
} from './facts.ts';
import type { Moment } from './memory.ts';

/** Whose work it is, by the rules of docs/usage.md. It was written without reading the source. */

/** A trainer's work on a day, from one source. */
export interface Seen {
  /** Names the work, as `toWorkName` does. */
  name: string;
  kind: 'tool' | 'import by project' | 'import by contract';
  trainer: string;
  day: string;
  counts: Counts;
  /** The contracts that it may be of, whenever they ran. */
  contracts: ContractFact[];
  /** Null if the source has no instants. */
  moments: readonly Moment[] | null;
  isTorn: boolean;
  isFirstTotal: boolean;
  /** Whether it has the zeros of undone imports. */
  isTakenBack: boolean;
}

/** By the name of the work, with ` rest` for the part that no contract got: a contract, or null for none. */
export type Decisions = Map<string, string | null>;

export interface ExpectedHeld {
  name: string;
  trainer: string;
  day: string;
  counts: Counts;
  contracts: string[];
  state: 'held' | 'discarded' | 'assigned';
}

export interface Expected {
  /** By contract, trainer and day. */
  due: Map<string, Counts>;
  held: ExpectedHeld[];
}

export function toWorkName(
  source: string,
  by: string,
  id: string,
  trainer: string,
  day: string,
  isFirst = false,
): string {
  return [source, by, id, trainer, day, ...(isFirst ? ['first'] : [])].join(' ');
}

interface Claim {
  contract: string;
  trainer: string;
  day: string;
  parts: { seen: Seen; counts: Counts; isZeros: boolean }[];
}

/** What contracts get and what is held, during the attribution. */
interface Tally {
  claims: Map<string, Claim>;
  held: ExpectedHeld[];
}

export function attribute(all: readonly Seen[], decisions: Decisions): Expected {
  const tally: Tally = { claims: new Map(), held: [] };
  for (const seen of all) {
    const decided = decisions.get(seen.name);
    if (seen.isTakenBack) takeBack(tally, seen, decided ?? null);
    else if (decided === undefined) giveShares(tally, seen, decisions);
    else giveDecided(tally, seen, decided);
  }
  return settle(tally);
}

function give({ claims }: Tally, seen: Seen, contract: string, counts: Counts, isZeros = false): void {
  const { trainer, day } = seen;
  const key = keyOf(contract, trainer, day);
  const claim = claims.get(key) ?? { contract, trainer, day, parts: [] };
  claim.parts.push({ seen, counts, isZeros });
  claims.set(key, claim);
}

/** Other contracts get zeros, after a decision even before they began, because the work may have been reported. */
function giveZeros(tally: Tally, seen: Seen, but: readonly string[], isDecided: boolean): void {
  for (const one of seen.contracts) {
    const isConcerned = isDecided || firstDayOf(one) <= seen.day;
    if (isConcerned && !but.includes(one.id)) give(tally, seen, one.id, zeroed(seen.counts), true);
  }
}

function hold({ held }: Tally, seen: Seen, name: string, counts: Counts, decided: string | null | undefined): void {
  const { trainer, day } = seen;
  const state = decided === undefined ? 'held' : stateOf(decided);
  held.push({ name, trainer, day, counts, contracts: seen.contracts.map(({ id }) => id), state });
}

function stateOf(decided: string | null): ExpectedHeld['state'] {
  return decided === null ? 'discarded' : 'assigned';
}

function takeBack(tally: Tally, seen: Seen, decided: string | null): void {
  if (decided !== null) give(tally, seen, decided, zeroed(seen.counts), true);
  giveZeros(tally, seen, decided === null ? [] : [decided], decided !== null);
}

/** What was reported before it was discarded stays. */
function giveDecided(tally: Tally, seen: Seen, decided: string | null): void {
  hold(tally, seen, seen.name, seen.counts, decided);
  if (decided === null) return;
  give(tally, seen, decided, seen.counts);
  giveZeros(tally, seen, [decided], true);
}

function giveShares(tally: Tally, seen: Seen, decisions: Decisions): void {
  const { shares, rest } = share(seen);
  for (const [contract, counts] of shares) give(tally, seen, contract, counts);
  const isWhole = shares.size === 0;
  const name = isWhole ? seen.name : `${seen.name} rest`;
  const isLeft = rest !== null && !isNothing(rest);
  const decided = isWhole || !isLeft ? undefined : decisions.get(name);
  const chosen = decided ? [decided] : [];
  if (!(isLeft && isWhole)) giveZeros(tally, seen, [...shares.keys(), ...chosen], chosen.length > 0);
  if (!isLeft) return;
  for (const contract of chosen) give(tally, seen, contract, rest);
  hold(tally, seen, name, rest, decided);
}

function settle({ claims, held }: Tally): Expected {
  const due = new Map<string, Counts>();
  const faulty = new Map<string, ExpectedHeld>();
  for (const [key, { contract, parts }] of claims) {
    const standing = parts.filter(({ isZeros, counts }) => !isZeros && !isNothing(counts));
    const sum = parts.reduce((all, { counts }) => plus(all, counts), nothing);
    const isAtFault = new Set(standing.map(({ seen }) => seen.kind)).size > 1 || (sum.seconds ?? 0) > 86_400;
    if (!isAtFault) due.set(key, sum);
    else {
      for (const { seen } of standing) {
        const { name, trainer, day, counts } = seen;
        const contracts = [...(faulty.get(name)?.contracts ?? []), contract];
        faulty.set(name, { name, trainer, day, counts, contracts, state: 'held' });
      }
    }
  }
  // Faulty work is held whole, whatever was decided about a part.
  const others = held.filter(({ name }) => !faulty.has(name.replace(/ rest$/, '')));
  return { due, held: [...others, ...faulty.values()] };
}

interface Shared {
  shares: Map<string, Counts>;
  /** What is held; null if nothing is. */
  rest: Counts | null;
}

function share(seen: Seen): Shared {
  const { contracts, day, counts } = seen;
  const running = contracts.filter((one) => runsOn(one, day));
  const [only, second] = running;
  if (only === undefined || seen.isFirstTotal) return { shares: new Map(), rest: counts };
  if (second === undefined) return shareWithOne(seen, only);
  const isOverADay = (counts.seconds ?? 0) > 86_400;
  if (isOverADay || seen.moments === null || seen.isTorn || !isAllOf(seen.moments, counts)) {
    return { shares: new Map(), rest: counts };
  }
  const { moments } = seen;
  const ownersOf = (moment: Moment) => running.filter((one) => runsAt(one, moment.at));
  const ofOne = (id: string) => moments.filter((one) => ownersOf(one).length === 1 && ownersOf(one)[0]?.id === id);
  const left = moments.filter((one) => ownersOf(one).length !== 1);
  const shares = new Map(running.map(({ id }) => [id, countMoments(ofOne(id))] as const));
  const rest = countMoments(left);
  return { shares, rest: isNothing(rest) ? null : rest };
}

/** The day without the work before the start or after the end. */
function shareWithOne({ counts, day, moments }: Seen, only: ContractFact): Shared {
  const isCut = firstDayOf(only) === day || lastDayOf(only) === day;
  const outside = isCut ? (moments ?? []).filter(({ at }) => !runsAt(only, at)) : [];
  // A task belongs to the contract if any piece of it does.
  const inside = new Set((moments ?? []).filter((one) => !outside.includes(one)).map(({ task }) => task));
  const all = countMoments(outside.map((one) => (inside.has(one.task) ? { ...one, task: null } : one)));
  const rest = mapCounts((name) => (counts[name] === null ? null : Math.min(counts[name], all[name] ?? 0)));
  const own = mapCounts((name) => (counts[name] === null ? null : counts[name] - (rest[name] ?? 0)));
  return { shares: new Map([[only.id, own]]), rest: isNothing(rest) ? null : rest };
}

function countMoments(moments: readonly Moment[]): Counts {
  return {
    seconds: moments.reduce((sum, { seconds }) => sum + seconds, 0),
    tasks: new Set(moments.flatMap(({ task }) => task ?? [])).size,
    labels: moments.reduce((sum, { labels }) => sum + labels, 0),
  };
}

function isAllOf(moments: readonly Moment[], counts: Counts): boolean {
  const all = countMoments(moments);
  return names.every((name) => (counts[name] ?? 0) === all[name]);
}
