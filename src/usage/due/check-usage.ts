import type { Context } from '../../context.ts';
import { addCounts, type Counts, isNothing, noCounts, sumCounts, toCounts } from '../../domain/usage.ts';
import { type DayKey, dayKey, reportIdOf } from '../report/ledger-store.ts';
import { type DaySelection, reportedOf, toDayFilter } from '../report/plan-install.ts';
import { countDays, countStale, type DueAndLedger, listDays } from './due-store.ts';
import { differenceOf, explainDay, type WhyDifferent } from './explain-day.ts';
import { type HeldRow, type HeldState, listHeld } from './held-store.ts';
import { refreshAllDue, refuseAborted } from './refresh-due.ts';
import { loadRates, type Rate } from './unpaid-store.ts';

/** One day of a trainer on a contract, from the tool to the marketplace. */
export interface CheckedDay extends DayKey {
  /** The id of the held work or of the day, for an operator's decision. */
  id: string;
  /** What the tools and imports have: due, held and discarded work. */
  seen: Counts;
  due: Counts;
  /** What the marketplace answered. */
  answered: Counts;
  /** Null if nothing differs. */
  why: WhyDifferent | null;
  /** Held or discarded work of the day. */
  held: HeldRow | null;
  /** What is not paid; negative if more is paid than is due. */
  difference: Counts;
  /** The difference in US dollars; null if the rate of the contract is not known. */
  usd: number | null;
}

export type CheckSum = ReturnType<typeof emptySum>;

/** Differences that need no operator: they decided, or the day has not begun. */
const settled: readonly (WhyDifferent | null)[] = [null, 'not_begun', 'dismissed', 'discarded'];

/** Whether something is unpaid, or paid without a source. */
export function isOpenDifference({ why }: Pick<CheckedDay, 'why'>): boolean {
  return !settled.includes(why);
}

/** Nobody should wait until more days are checked, or the due work of more trainers is computed again. */
const mostAtOnce = { days: 5000, trainers: 100 };

/** Why it takes long to check these days, or to list what is due; null if it does not. */
export async function whyLong(ctx: Context, wanted?: DaySelection): Promise<string | null> {
  if ((await countStale(ctx, mostAtOnce.trainers)) === mostAtOnce.trainers) {
    return `The work of ${mostAtOnce.trainers} trainers or more has changed, and what is due is computed again first.`;
  }
  if (wanted === undefined) return null;
  let left = mostAtOnce.days;
  for (const install of reportedOf(ctx, wanted.installs)) {
    left -= await countDays(ctx, toDayFilter(install, wanted), left);
    if (left === 0) return `These are ${mostAtOnce.days} days of trainers or more. Choose less, or check them all.`;
  }
  return null;
}

/** Every day of every contract: what the sources have, what is due, what was answered, and why these differ. */
export async function* checkUsage(
  ctx: Context,
  wanted: DaySelection,
  signal?: AbortSignal,
): AsyncGenerator<CheckedDay> {
  await refreshAllDue(ctx, signal);
  // Work that may be of several installs comes with each of them.
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

async function* checkInstall(ctx: Context, install: string, wanted: DaySelection): AsyncGenerator<CheckedDay> {
  const { contractId, from, to } = wanted;
  const now = ctx.clock.now();
  const rates = await loadRates(ctx, install);
  const rows = (await listHeld(ctx, { install, contractId, from, to })).filter(isNotDue);
  const held = Map.groupBy(rows, toHeldKey);
  const decided = statesOf(rows);
  for await (const days of listDays(ctx, toDayFilter(install, wanted))) {
    for (const day of days) {
      const key = dayKey(day);
      const known = { held: held.get(key) ?? [], decided: decided.get(key), now };
      yield toChecked(day, known, rates.get(day.contractId));
      held.delete(key);
    }
  }
  for (const some of held.values()) yield* some.map((row) => toHeldDay(install, row, rates));
}

/** By day of each possible contract: whether work is held or was discarded. */
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

/** Held work without any possible contract. */
async function* checkUnattributed(ctx: Context, { from, to }: DaySelection): AsyncGenerator<CheckedDay> {
  const rows = (await listHeld(ctx, { install: '', from, to })).filter(isNotDue);
  yield* rows.filter(({ contracts }) => contracts.length === 0).map((row) => toHeldDay('', row, new Map()));
}

type UndueRow = HeldRow & { state: Exclude<HeldState, 'assigned'> };

/** Work that was assigned is due. */
function isNotDue(row: HeldRow): row is UndueRow {
  return row.state !== 'assigned' && !isNothing(row.counts);
}

/** Held work with one possible contract is listed on that contract's day. */
function toHeldKey({ contracts, trainerId, day, id }: HeldRow): string {
  const [contract, other] = contracts;
  return contract === undefined || other !== undefined ? id : dayKey({ ...contract, trainerId, day });
}

/** What is known of a day besides what is due and was reported. */
interface OtherWork {
  /** Work of the day that can be of no other contract. */
  held: readonly UndueRow[];
  decided: HeldState | undefined;
  now: Date;
}

function toChecked(one: DueAndLedger, { held, decided, now }: OtherWork, rate: Rate | undefined): CheckedDay {
  const { due: stored, ledger, ...key } = one;
  const waiting = held.find(({ state }) => state === 'held') ?? held[0];
  const due = stored?.counts ?? noCounts;
  const answered = ledger?.answered ?? noCounts;
  const sumOf = (wanted: HeldState) =>
    sumCounts(held.filter(({ state }) => state === wanted).map(({ counts }) => counts));
  const payable = addCounts(due, sumOf('held'));
  const difference = toDifference(payable, answered);
  const why = explainDay(stored, ledger, now, decided) ?? waiting?.state ?? null;
  // A late change is decided by its day, even if other work of the day was discarded.
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

/** Held work with several possible contracts, or of a day on which nothing is due or was reported. */
function toHeldDay(install: string, row: UndueRow, rates: ReadonlyMap<string, Rate>): CheckedDay {
  const { id, trainerId, day, counts, contracts, state } = row;
  const [contract, other] = contracts;
  const contractId = other === undefined ? (contract?.contractId ?? '') : '';
  const difference = state === 'held' ? counts : noCounts;
  return {
    ...{ install, contractId, trainerId, day, id, seen: counts, due: noCounts, answered: noCounts, held: row },
    why: state,
    difference,
    usd: toUsd(difference, rates.get(contractId)),
  };
}

function toDifference(seen: Counts, answered: Counts): Counts {
  const difference = differenceOf(seen, answered);
  // A count that no source has any more is paid without a source.
  return toCounts((name) => difference[name] ?? (answered[name] === null ? null : -answered[name]));
}

function toUsd(difference: Counts, rate: Rate | undefined): number | null {
  if (rate === undefined) return null;
  return Math.round((difference[rate.unit] ?? 0) * rate.usd * 100) / 100;
}

function emptySum(install: string) {
  return {
    ...{ install, seen: noCounts, due: noCounts, answered: noCounts, held: noCounts },
    // Days of trainers, and how many of them differ.
    ...{ days: 0, differing: 0 },
    // The differences in US dollars, of contracts whose rate is known.
    usd: 0,
  };
}

export function sumChecked(sums: Map<string, CheckSum>, one: CheckedDay): void {
  const sum = sums.get(one.install) ?? emptySum(one.install);
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
