import { attribute, type Decisions, type Expected } from './attribution.ts';
import { type Counts, dayOf, type Edge, keyOf, names, nothing, shiftDay, trainerOf } from './facts.ts';
import { isInDoubt } from './market.ts';
import { absorb, firstOpenDay, type Memory, type SeenMember } from './memory.ts';
import { contractsOf, type ImportFact, seenInImports, seenInTools } from './seen.ts';
import type { Shown } from './tools.ts';
import { lookbackDays, type World } from './world.ts';

/** A week, and what follows from it by the rules. */
export interface Week {
  world: World;
  memory: Memory;
  imports: ImportFact[];
  decisions: Decisions;
  /** The keys of closed days. */
  closed: Set<string>;
  /** Closed days whose later counts an operator dismissed. */
  dismissed: Map<string, Counts>;
  /** The same, and those that have changed since. */
  dismissedEver: Map<string, string>;
  /** What was due and held at the last computation. */
  worked: Expected;
  /** What was due at the beginning of the last run; null if it failed. */
  reported: Expected | null;
  /** The last day that had begun in all zones then. */
  begunAt: string;
  /** Days that may be sent once more since then. */
  reopened: Set<string>;
  /** Totals of accounts before they belonged to a trainer. */
  earlierTotals: Map<string, { atMs: number; tasks: number }[]>;
  /** The most seconds that a trainer's piece, day or imported line ever had, by trainer and then by its name. */
  most: Map<string, Map<string, number>>;
  /** How many pieces there ever were. */
  pieces: number;
  faults: string[];
  log(line: string): void;
}

export function noteMost({ most }: Week, trainer: string, name: string, seconds: number): void {
  const theirs = most.get(trainer) ?? new Map<string, number>();
  most.set(trainer, theirs.set(name, Math.max(seconds, theirs.get(name) ?? 0)));
}

export function nowOf({ world }: Week): number {
  return world.clock.now().getTime();
}

/** What is due and held now. */
export function expect({ memory, imports, decisions, world }: Week): Expected {
  return attribute([...seenInTools(memory, world.contracts), ...seenInImports(imports, world.contracts)], decisions);
}

/** Merges a reading. */
export async function absorbShown(week: Week, shown: Shown, beganMs: number): Promise<void> {
  const { plan } = week.world;
  const rows = await week.world.membersOf(shown.project);
  const owned = new Set(rows.map(({ memberId }) => trainerOf(memberId ?? '')));
  if (shown.project === 'totals') keepTotals(week, shown, owned, beganMs);
  const members = rows.map(({ memberId, generation, wanted, state }): SeenMember => {
    const trainer = trainerOf(memberId ?? '');
    return {
      trainer,
      generation,
      isIn: wanted && state === 'active',
      begin: beginTotal(week, shown, trainer, beganMs),
    };
  });
  absorb(week.memory, shown, members, {
    beganMs,
    timeZone: plan.zones[shown.project],
    lookbackDays,
    keepsDeleted: plan.keepsDeleted,
  });
}

/** Remembers totals of accounts without a trainer, to know what was there before a contract. */
function keepTotals({ earlierTotals }: Week, { totals }: Shown, owned: ReadonlySet<string>, atMs: number): void {
  for (const { trainer, tasks } of totals) {
    if (!owned.has(trainer)) earlierTotals.set(trainer, [...(earlierTotals.get(trainer) ?? []), { atMs, tasks }]);
  }
}

/** A total counts from where it was when the first contract began, and in full if the account was made later. */
function beginTotal(week: Week, { totals }: Shown, trainer: string, atMs: number): SeenMember['begin'] {
  const tasks = totals.find((one) => one.trainer === trainer)?.tasks ?? 0;
  const known = [...(week.earlierTotals.get(trainer) ?? []), { atMs, tasks }];
  const startMs = Math.min(
    ...contractsOf(week.world.contracts, 'totals', trainer).map(({ start }) => startMsOf(start)),
  );
  if ((week.world.madeMs.get(`meter ${trainer}`) ?? -1) >= startMs) return { before: 0, first: null };
  const early = known.findLast((one) => one.atMs < startMs);
  const from = early ?? (known[0] as (typeof known)[number]);
  const before = Math.min(from.tasks, tasks);
  const isHeld = early === undefined && before > 0;
  return { before, first: isHeld ? { day: dayOf(from.atMs, week.world.plan.zones.totals), tasks: before } : null };
}

function startMsOf(start: Edge): number {
  return Date.parse('at' in start ? start.at : `${start.day}T00:00:00Z`);
}

/** The last day that has begun in UTC and in every zone: no later one was sent. */
export function begunBy(week: Week): string {
  return shiftDay(new Date(nowOf(week)).toISOString().slice(0, 10), -1);
}

/** The days of contracts on which other work is held. */
function heldKeys({ held }: Expected): Set<string> {
  return new Set(
    held.flatMap(({ contracts, trainer, day, state }) =>
      state === 'held' ? contracts.map((id) => keyOf(id, trainer, day)) : [],
    ),
  );
}

/** After a decision or an undo, days that differ are sent once more, however old. */
export function reopen(week: Week, before: Expected, after: Expected): void {
  week.worked = after;
  const [heldBefore, heldAfter] = [heldKeys(before), heldKeys(after)];
  for (const key of new Set([...before.due.keys(), ...after.due.keys()])) {
    const [was, is] = [before.due.get(key), after.due.get(key)];
    const isSame = JSON.stringify(was) === JSON.stringify(is) && heldBefore.has(key) === heldAfter.has(key);
    if (isSame || is === undefined) continue;
    reopenDay(week, key);
  }
}

/** Notes that what is due is computed now. Work that moved between contracts is sent for both, however old. */
export function noteMoves(week: Week): Expected {
  const [before, after] = [week.worked, expect(week)];
  week.worked = after;
  // A dismissal covers only the counts that the operator saw.
  for (const [key, counts] of week.dismissed) {
    if (JSON.stringify(after.due.get(key)) !== JSON.stringify(counts)) week.dismissed.delete(key);
  }
  const keys = new Set([...before.due.keys(), ...after.due.keys()]);
  const changes = [...keys].map((key) => toChange(key, before.due.get(key), after.due.get(key)));
  const byDay = Map.groupBy(changes, ({ key }) => key.slice(key.indexOf(' ')));
  for (const ofDay of byDay.values()) {
    const isMoved = ofDay.some((from) => from.isLess && ofDay.some((to) => to !== from && to.isMore));
    const changed = ofDay.filter(({ isLess, isMore }) => isLess || isMore);
    for (const { key } of isMoved ? changed : []) reopenDay(week, key);
  }
  return after;
}

function toChange(key: string, was: Counts = nothing, is: Counts = nothing) {
  const isMore = names.some((name) => (is[name] ?? 0) > (was[name] ?? 0));
  const isLess = names.some((name) => was[name] !== null && is[name] !== null && is[name] < was[name]);
  return { key, isMore, isLess };
}

function reopenDay(week: Week, key: string): void {
  week.closed.delete(key);
  week.dismissed.delete(key);
  week.reopened.add(key);
}

/**
 * No day is sent before it has begun everywhere. One that was sent for the last time is sent again only while it is in
 * doubt, or because an operator said so.
 */
export function noteSending(week: Week, key: string): void {
  const isClosed = week.closed.has(key) && !isInDoubt(week.world.market.told.get(key));
  if (isClosed) week.faults.push(`${key} was sent again after it was sent for the last time`);
  const [id, , day = ''] = key.split(' ');
  const timeZone = week.world.contracts.find((one) => one.id === id)?.timeZone ?? 'UTC';
  const hasBegun = ['UTC', timeZone].every((zone) => day <= dayOf(nowOf(week), zone));
  if (!hasBegun) week.faults.push(`${key} was sent before its day had begun`);
}

/** Notes which days are closed. */
export function noteAnswered(week: Week, key: string): void {
  const [, , day = ''] = key.split(' ');
  week.reopened.delete(key);
  const isOld = day < firstOpenDay(nowOf(week), lookbackDays);
  if (isOld && !heldKeys(expect(week)).has(key)) week.closed.add(key);
}
