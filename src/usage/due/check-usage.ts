import type { Context } from '../../context.ts';
import { addCounts, type Counts, type Day, isNothing, noCounts, sumCounts, toCounts } from '../../domain/usage.ts';
import { type DayKey, dayKey, reportIdOf } from '../report/ledger-store.ts';
import { reportedOf } from '../report/plan-install.ts';
import { countDays, countStale, type DueAndLedger, listDays } from './due-store.ts';
import { differenceOf, explainDay, type WhyDifferent } from './explain-day.ts';
import { type HeldRow, type HeldState, listHeld } from './held-store.ts';
import { refreshAllDue, refuseAborted } from './refresh-due.ts';
import { loadRates, type Rate } from './trouble-store.ts';

/** One day of a trainer on a contract, from the tool to the marketplace. */
export interface CheckedDay extends DayKey {
  /** The id by which an operator decides: of held work, or of the day. */
  id: string;
  /** What the tools and the imports have: what is due, and what is held. */
  seen: Counts;
  due: Counts;
  /** What the marketplace answered. */
  answered: Counts;
  /** Null where they agree. */
  why: WhyDifferent | null;
  /** Why the work is held, where it is. */
  held: HeldRow | null;
  /** What is not paid; negative where more is paid than is due. */
  difference: Counts;
  /** The difference in US dollars, where the rate of the contract is known. */
  usd: number | null;
}

export interface CheckSum {
  install: string;
  /** Days of trainers, and how many of them differ. */
  days: number;
  differing: number;
  seen: Counts;
  due: Counts;
  answered: Counts;
  held: Counts;
  /** The differences in US dollars, of contracts whose rate is known. */
  usd: number;
}

export interface CheckWanted {
  installs: readonly string[];
  contractId?: string | undefined;
  from?: Day | undefined;
  to?: Day | undefined;
}

/** Differences that an operator has decided about, or that are none yet. */
const settled: readonly (WhyDifferent | null)[] = [null, 'not_begun', 'dismissed', 'discarded'];

/** Whether something is unpaid, or paid without a source. */
export function isOpenDifference({ why }: Pick<CheckedDay, 'why'>): boolean {
  return !settled.includes(why);
}

/** More days are not checked, and the due work of more trainers is not computed again, while somebody waits. */
const mostAtOnce = { days: 5000, trainers: 100 };

/** Why it takes long to check these days, or to list what is due where none are given; null where it does not. */
export async function whyLong(ctx: Context, wanted?: CheckWanted): Promise<string | null> {
  if ((await countStale(ctx, mostAtOnce.trainers)) === mostAtOnce.trainers) {
    return `The work of ${mostAtOnce.trainers} trainers or more has changed, and what is due is computed again first.`;
  }
  if (wanted === undefined) return null;
  const { installs, contractId, from, to } = wanted;
  const contractIds = contractId === undefined ? undefined : [contractId];
  let left = mostAtOnce.days;
  for (const install of reportedOf(ctx, installs)) {
    left -= await countDays(ctx, { install, contractIds, from, to }, left);
    if (left === 0) return `These are ${mostAtOnce.days} days of trainers or more. Choose less, or check them all.`;
  }
  return null;
}

/** Every day of every contract: what the sources have, what is due, what was answered, and why they differ. */
export async function* checkUsage(ctx: Context, wanted: CheckWanted, signal?: AbortSignal): AsyncGenerator<CheckedDay> {
  await refreshAllDue(ctx, signal);
  // Held work that may be of several installs is listed once.
  const listed = new Set<string>();
  for (const install of reportedOf(ctx, wanted.installs)) {
    for await (const day of checkInstall(ctx, install, wanted)) {
      refuseAborted(signal);
      if (day.contractId === '' && listed.has(day.id)) continue;
      if (day.contractId === '') listed.add(day.id);
      yield day;
    }
  }
  const isAll = wanted.contractId === undefined && wanted.installs.length === ctx.installs.size;
  if (isAll) yield* checkUnattributed(ctx, wanted);
}

async function* checkInstall(
  ctx: Context,
  install: string,
  { contractId, from, to }: CheckWanted,
): AsyncGenerator<CheckedDay> {
  const now = ctx.clock.now();
  const rates = await loadRates(ctx, install);
  const rows = (await listHeld(ctx, { install, contractId, from, to })).filter(isNotDue);
  const held = Map.groupBy(rows, toHeldKey);
  const decided = statesOf(rows);
  const contractIds = contractId === undefined ? undefined : [contractId];
  for await (const days of listDays(ctx, { install, contractIds, from, to })) {
    for (const day of days) {
      const key = dayKey(day);
      const known = { held: held.get(key) ?? [], decided: decided.get(key), now };
      yield toChecked(day, known, rates.get(day.contractId));
      held.delete(key);
    }
  }
  for (const some of held.values()) yield* some.map((row) => toHeldDay(install, row, rates));
}

/** By day of each contract that it may be of: whether work is held, or was discarded. */
function statesOf(rows: readonly UndueRow[]): Map<string, HeldState> {
  const states = new Map<string, HeldState>();
  for (const { contracts, trainerId, day, state } of rows) {
    for (const contract of contracts) {
      const key = dayKey({ ...contract, trainerId, day });
      if (states.get(key) !== 'held') states.set(key, state);
    }
  }
  return states;
}

/** Held work that may be of no contract of any install. */
async function* checkUnattributed(ctx: Context, { from, to }: CheckWanted): AsyncGenerator<CheckedDay> {
  const rows = (await listHeld(ctx, { install: '', from, to })).filter(isNotDue);
  yield* rows.filter(({ contracts }) => contracts.length === 0).map((row) => toHeldDay('', row, new Map()));
}

type UndueRow = HeldRow & { state: Exclude<HeldState, 'assigned'> };

/** Work that was assigned is due. */
function isNotDue(row: HeldRow): row is UndueRow {
  return row.state !== 'assigned' && !isNothing(row.counts);
}

/** Held work of one contract stands on that contract's day. */
function toHeldKey({ contracts, trainerId, day, id }: HeldRow): string {
  const [contract, other] = contracts;
  return contract === undefined || other !== undefined ? id : dayKey({ ...contract, trainerId, day });
}

interface KnownOfDay {
  /** Work of the day that may be of no other contract. */
  held: readonly UndueRow[];
  decided: HeldState | undefined;
  now: Date;
}

function toChecked(one: DueAndLedger, { held, decided, now }: KnownOfDay, rate: Rate | undefined): CheckedDay {
  const { due: stored, ledger, ...key } = one;
  const waiting = held.find(({ state }) => state === 'held') ?? held[0];
  const due = stored?.counts ?? noCounts;
  const answered = ledger?.answered ?? noCounts;
  const sumOf = (wanted: HeldState) =>
    sumCounts(held.filter(({ state }) => state === wanted).map(({ counts }) => counts));
  const payable = addCounts(due, sumOf('held'));
  const difference = toDifference(payable, answered);
  const why = explainDay(stored, ledger, now, decided) ?? waiting?.state ?? null;
  // A late change is decided by its day, even where other work of the day was discarded.
  const isOfDay = waiting === undefined || why === 'late' || why === 'dismissed';
  return {
    ...key,
    id: isOfDay ? reportIdOf(key) : waiting.id,
    seen: addCounts(payable, sumOf('discarded')),
    due,
    answered,
    why,
    held: waiting ?? null,
    difference,
    usd: toUsd(difference, rate),
  };
}

/** Held work of a day on which nothing is due or was reported, or that may be of several contracts. */
function toHeldDay(install: string, row: UndueRow, rates: ReadonlyMap<string, Rate>): CheckedDay {
  const { id, trainerId, day, counts, contracts, state } = row;
  const [contract, other] = contracts;
  const contractId = other === undefined ? (contract?.contractId ?? '') : '';
  const isHeld = state === 'held';
  const difference = isHeld ? counts : noCounts;
  return {
    ...{ install, contractId, trainerId, day, id, seen: counts, due: noCounts, answered: noCounts, held: row },
    why: state,
    difference,
    usd: toUsd(difference, rates.get(contractId)),
  };
}

function toDifference(seen: Counts, answered: Counts): Counts {
  const difference = differenceOf(seen, answered);
  // What was reported and is not seen any more is paid without a source.
  return toCounts((name) => difference[name] ?? (answered[name] === null ? null : -answered[name]));
}

function toUsd(difference: Counts, rate: Rate | undefined): number | null {
  if (rate === undefined) return null;
  return Math.round((difference[rate.unit] ?? 0) * rate.usd * 100) / 100;
}

export function sumChecked(sums: Map<string, CheckSum>, one: CheckedDay): void {
  const none = { seen: noCounts, due: noCounts, answered: noCounts, held: noCounts };
  const sum = sums.get(one.install) ?? { install: one.install, days: 0, differing: 0, ...none, usd: 0 };
  const held = one.held?.state === 'held' ? one.held.counts : noCounts;
  sums.set(one.install, {
    install: one.install,
    days: sum.days + 1,
    differing: sum.differing + Number(isOpenDifference(one)),
    seen: addCounts(sum.seen, one.seen),
    due: addCounts(sum.due, one.due),
    answered: addCounts(sum.answered, one.answered),
    held: addCounts(sum.held, held),
    usd: sum.usd + (isOpenDifference(one) ? (one.usd ?? 0) : 0),
  });
}
