import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Context } from '../../context.ts';
import { inTransaction, type Transaction } from '../../db/database.ts';
import { readSetting, writeSetting } from '../../db/setting-store.ts';
import { AppError } from '../../domain/errors.ts';
import {
  countNames,
  type Day,
  isLower,
  type Moment,
  noCounts,
  type Observation,
  sumCounts,
} from '../../domain/usage.ts';
import { toInstant } from '../../lib/clock.ts';
import { type Attributed, attributeWork, type DueDay, workKey } from '../attribute/attribute-work.ts';
import { findCandidates, needsMoments } from '../attribute/share-work.ts';
import { importedObservations } from '../import/import-store.ts';
import { listEngagements, scopeOfLink, timeZoneOf } from '../read/scope-store.ts';
import { listMoments, toolObservations } from '../read/work-store.ts';
import { dayKey, releaseDays, reopenDays } from '../report/ledger-store.ts';
import {
  chooseStale,
  dropDue,
  listWorkedTrainers,
  loadDueOf,
  markAllStale,
  type StoredDue,
  saveDue,
  takeStale,
} from './due-store.ts';
import { dropHeld, type HeldRow, loadDecisions, loadHeldOf, saveHeld, toHeldRow } from './held-store.ts';

/** So few trainers, and days of work, that a transaction stays under 50 ms. */
const atOnce = { trainers: 10, days: 200 };
/** Lets other processes write between two transactions. */
const restMs = 2;

/** What one trainer's stored due work lacks. */
export interface DueChange {
  saved: DueDay[];
  /** Of these, work that became another contract's: both days are sent together, or it would be paid twice. */
  moved: DueDay[];
  /** Of the moved days, those on which the contracts together have no less than before. The brake lets them pass. */
  kept: DueDay[];
  dropped: StoredDue[];
  heldSaved: HeldRow[];
  heldDropped: HeldRow[];
}

/**
 * Works out again what is due for the trainers whose work, contracts or decisions have changed, some at a time. Every
 * reader of what is due calls it first.
 */
export async function refreshDue(ctx: Context, signal?: AbortSignal, onProgress?: () => void): Promise<void> {
  await markAllWhereRulesChanged(ctx);
  while (!signal?.aborted) {
    const chosen = await inTransaction(ctx.database, (tx) => refreshSome(ctx, tx));
    if (chosen === 0) return;
    onProgress?.();
    await wait(restMs);
  }
}

/**
 * For an answer that must not leave any trainer out.
 *
 * @throws AppError `unavailable` when it is aborted
 */
export async function refreshAllDue(ctx: Context, signal: AbortSignal | undefined): Promise<void> {
  await refreshDue(ctx, signal);
  refuseAborted(signal);
}

/** @throws AppError `unavailable` when it is aborted */
export function refuseAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new AppError('unavailable', 'This took too long or was interrupted: ask again');
}

/** What the configuration says about whose work it is, and on which day. */
async function markAllWhereRulesChanged(ctx: Context): Promise<void> {
  const { links, tools } = ctx.config;
  const zones = [...links].map(([project, { timeZone }]) => [project, timeZone]);
  const rules = JSON.stringify([zones.sort(), [...tools].map(([tool, { adapter }]) => [tool, adapter]).sort()]);
  if ((await readSetting(ctx.database.kysely, 'usage_rules')) === rules) return;
  await inTransaction(ctx.database, async (tx) => {
    await markAllStale(tx);
    await writeSetting(tx, 'usage_rules', rules);
  });
}

async function refreshSome(ctx: Context, tx: Transaction): Promise<number> {
  const trainerIds = await chooseStale(tx, atOnce);
  if (trainerIds.length > 0) await refreshTrainers(ctx, tx, trainerIds);
  return trainerIds.length;
}

/** Works out again what is due for these trainers, if they are stale. */
export async function refreshTrainers(ctx: Context, tx: Transaction, trainerIds: readonly string[]): Promise<void> {
  const stale = await takeStale(ctx.database, tx, trainerIds);
  if (stale.length === 0) return;
  const fromDay = stale.map((one) => one.fromDay).sort()[0] ?? '';
  const change = await findChange(
    ctx,
    tx,
    stale.map(({ trainerId }) => trainerId),
    fromDay,
  );
  await applyChange(tx, change);
  const reopened = new Set(stale.flatMap(({ trainerId, reopens }) => (reopens ? [trainerId] : [])));
  await reopenDays(tx, change.moved);
  await releaseDays(tx, [...change.kept, ...change.saved.filter(({ trainerId }) => reopened.has(trainerId))]);
}

/** How what is stored for these trainers differs from what follows from the sources. */
export async function findChange(
  ctx: Context,
  db: Transaction,
  trainerIds: readonly string[],
  fromDay: Day,
): Promise<DueChange> {
  const { due, held } = await attributeTrainers(ctx, db, trainerIds, { fromDay });
  const stored = await loadDueOf(ctx.database, db, { trainerIds, fromDay });
  const storedHeld = await loadHeldOf(ctx.database, db, { trainerIds, fromDay });
  const known = new Map(stored.map((one) => [dayKey(one), one]));
  const knownHeld = new Map(storedHeld.map((one) => [one.id, one]));
  const now = toInstant(ctx.clock.now());
  const rows = held.map((one) => {
    const row = toHeldRow(one, now);
    const before = knownHeld.get(row.id);
    return before?.state === row.state ? { ...row, since: before.since } : row;
  });
  const keys = new Set(due.map(dayKey));
  const ids = new Set(rows.map(({ id }) => id));
  const saved = due.filter((one) => !isSameDue(known.get(dayKey(one)), one));
  return {
    saved,
    ...findMoved(saved, known),
    dropped: stored.filter((one) => !keys.has(dayKey(one))),
    heldSaved: rows.filter((row) => !isDeepStrictEqual(knownHeld.get(row.id), row)),
    heldDropped: storedHeld.filter(({ id }) => !ids.has(id)),
  };
}

/** The days of a trainer on which one contract has less than before, and another has more. */
function findMoved(saved: readonly DueDay[], known: ReadonlyMap<string, StoredDue>): Pick<DueChange, 'moved' | 'kept'> {
  const before = (one: DueDay) => known.get(dayKey(one))?.counts ?? noCounts;
  const hasLess = (one: DueDay) => isLower(one.counts, before(one));
  const hasMore = (one: DueDay) => countNames.some((name) => (one.counts[name] ?? 0) > (before(one)[name] ?? 0));
  const byDay = Map.groupBy(saved, ({ trainerId, day }) => JSON.stringify([trainerId, day]));
  const moved = [...byDay.values()].filter((days) =>
    days.some((one) => hasLess(one) && days.some((other) => other !== one && hasMore(other))),
  );
  const kept = moved.filter(
    (days) => !isLower(sumCounts(days.map(({ counts }) => counts)), sumCounts(days.map(before))),
  );
  return { moved: moved.flat(), kept: kept.flat() };
}

function isSameDue(stored: StoredDue | undefined, { counts, timeZone, isPartial }: DueDay): boolean {
  if (stored === undefined || stored.timeZone !== timeZone || stored.isPartial !== isPartial) return false;
  return isDeepStrictEqual(stored.counts, counts);
}

export async function applyChange(tx: Transaction, change: DueChange): Promise<void> {
  await dropDue(tx, change.dropped);
  await saveDue(tx, change.saved);
  await dropHeld(tx, change.heldDropped);
  await saveHeld(tx, change.heldSaved);
}

/** A trainer whose stored due work was not what follows from the sources. */
interface WrongDue {
  trainerId: string;
  /** The days that were wrong. */
  days: string[];
}

const trainersAtOnce = 10;

/** Works everything out anew from the sources, and mends what was stored where it differs. */
export async function recountDue(ctx: Context, signal?: AbortSignal, onProgress?: () => void): Promise<WrongDue[]> {
  await refreshDue(ctx, signal, onProgress);
  const wrong: WrongDue[] = [];
  for (let after = ''; !signal?.aborted; ) {
    const trainerIds = await listWorkedTrainers(ctx.database.kysely, after, trainersAtOnce);
    if (trainerIds.length === 0) return wrong;
    const change = await inTransaction(ctx.database, async (tx) => {
      // A trainer whose work changed meanwhile is worked out by the next refresh.
      const stale = await tx
        .selectFrom('usageStale')
        .select('trainerId')
        .where('trainerId', 'in', trainerIds)
        .execute();
      const settled = trainerIds.filter((id) => !stale.some(({ trainerId }) => trainerId === id));
      const found = await findChange(ctx, tx, settled, '');
      await applyChange(tx, found);
      return found;
    });
    wrong.push(...toWrong(change));
    after = trainerIds.at(-1) ?? after;
    onProgress?.();
    await nextTurn();
  }
  return wrong;
}

function toWrong({ saved, dropped, heldSaved, heldDropped }: DueChange): WrongDue[] {
  const all = [...saved, ...dropped, ...heldSaved, ...heldDropped];
  return [...Map.groupBy(all, ({ trainerId }) => trainerId)].map(([trainerId, some]) => {
    return { trainerId, days: [...new Set(some.map(({ day }) => day))].sort() };
  });
}

interface AttributedSpan {
  /** Earlier days are left out. */
  fromDay?: Day;
  /** An import that does not count yet, to be taken as if it did. */
  includesImport?: number;
}

/** Works out from the sources what is due and what is held for these trainers. It changes nothing. */
export async function attributeTrainers(
  ctx: Context,
  db: Transaction,
  trainerIds: readonly string[],
  { fromDay = '', includesImport }: AttributedSpan = {},
): Promise<Attributed> {
  const span = { trainerIds, fromDay };
  const observations = [
    ...(await toolObservations(ctx.database, db, span)),
    ...(await importedObservations(ctx.database, db, { ...span, includesImport })),
  ];
  if (observations.length === 0) return { due: [], held: [] };
  const engagements = await listEngagements(ctx.database, db, trainerIds);
  const candidatesOf = findCandidates(engagements, (engagement) => ({
    scope: scopeOfLink(ctx, engagement),
    timeZone: timeZoneOf(ctx, engagement.externalProjectId),
  }));
  const decisions = await loadDecisions(ctx.database, db, trainerIds);
  const moments = new Map<Observation, Moment[]>();
  for (const observation of observations) {
    const isDecided = decisions.has(workKey(observation));
    if (isDecided || !needsMoments(observation, candidatesOf(observation))) continue;
    moments.set(observation, await listMoments(db, observation));
  }
  return attributeWork(observations, {
    candidatesOf,
    momentsOf: (observation) => moments.get(observation) ?? [],
    decisions,
  });
}
