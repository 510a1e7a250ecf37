import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Context } from '../../context.ts';
import { inTransaction, type Transaction } from '../../db/database.ts';
import { readSetting, writeSetting } from '../../db/setting-store.ts';
import { AppError } from '../../domain/errors.ts';
import { countNames, isLower, type Moment, noCounts, type Observation, sumCounts } from '../../domain/usage.ts';
import { toInstant } from '../../lib/clock.ts';
import { type Attributed, attributeWork, type DueDay, workKey } from '../attribute/attribute-work.ts';
import { findCandidates, needsMoments } from '../attribute/share-work.ts';
import { importedObservations } from '../import/import-store.ts';
import { listEngagements, scopeOfLink, timeZoneOf } from '../read/scope-store.ts';
import { listMoments, toolObservations, type WorkSpan } from '../read/work-store.ts';
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

/** Keeps a transaction under 50 ms. */
const atOnce = { trainers: 10, days: 200 };
/** Lets other processes write between two transactions. */
const restMs = 2;

/** How stored due work has to change. */
interface DueChange {
  saved: DueDay[];
  /** Saved days whose work moved to or from another contract: both are sent, or the work would be paid twice. */
  moved: DueDay[];
  /** Moved days on which the contracts together have no less than before. The brake lets them pass. */
  kept: DueDay[];
  dropped: StoredDue[];
  heldSaved: HeldRow[];
  heldDropped: HeldRow[];
}

/**
 * Computes again what is due for trainers whose work, contracts or decisions have changed. Whoever reads what is due
 * calls it first.
 */
export async function refreshDue(ctx: Context, signal?: AbortSignal, onProgress?: () => void): Promise<void> {
  await markAllIfRulesChanged(ctx);
  while (!signal?.aborted) {
    const trainerIds = await inTransaction(ctx.database, async (tx) => {
      const chosen = await chooseStale(tx, atOnce);
      if (chosen.length > 0) await refreshTrainers(ctx, tx, chosen);
      return chosen;
    });
    if (trainerIds.length === 0) return;
    onProgress?.();
    await wait(restMs);
  }
}

/** For an answer that leaves no trainer out. @throws AppError `unavailable` if it is aborted */
export async function refreshAllDue(ctx: Context, signal: AbortSignal | undefined): Promise<void> {
  await refreshDue(ctx, signal);
  refuseAborted(signal);
}

export function refuseAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new AppError('unavailable', 'This took too long or was interrupted: ask again');
}

/** The time zones and adapters in the configuration decide whose work it is, and on which day. */
async function markAllIfRulesChanged(ctx: Context): Promise<void> {
  const { links, tools } = ctx.config;
  const zones = [...links].map(([project, { timeZone }]) => [project, timeZone]);
  const rules = JSON.stringify([zones.sort(), [...tools].map(([tool, { adapter }]) => [tool, adapter]).sort()]);
  if ((await readSetting(ctx.database.kysely, 'usage_rules')) === rules) return;
  await inTransaction(ctx.database, async (tx) => {
    await markAllStale(tx);
    await writeSetting(tx, 'usage_rules', rules);
  });
}

/** Computes again what is due for these trainers, if they are stale. */
export async function refreshTrainers(ctx: Context, tx: Transaction, trainerIds: readonly string[]): Promise<void> {
  const stale = await takeStale(ctx.database, tx, trainerIds);
  if (stale.length === 0) return;
  const [fromDay = ''] = stale.map((one) => one.fromDay).sort();
  const change = await findChange(ctx, tx, { trainerIds: stale.map(({ trainerId }) => trainerId), fromDay });
  await applyChange(tx, change);
  const reopened = new Set(stale.flatMap(({ trainerId, reopens }) => (reopens ? [trainerId] : [])));
  await reopenDays(tx, change.moved);
  await releaseDays(tx, [...change.kept, ...change.saved.filter(({ trainerId }) => reopened.has(trainerId))]);
}

/** How the stored due work of these trainers differs from what follows from the sources. */
async function findChange(ctx: Context, db: Transaction, span: WorkSpan): Promise<DueChange> {
  const { due, held } = await attributeTrainers(ctx, db, span);
  const stored = await loadDueOf(ctx.database, db, span);
  const storedHeld = await loadHeldOf(ctx.database, db, span);
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

/** Finds days of a trainer on which one contract has less than before, and another has more. */
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

async function applyChange(tx: Transaction, change: DueChange): Promise<void> {
  await dropDue(tx, change.dropped);
  await saveDue(tx, change.saved);
  await dropHeld(tx, change.heldDropped);
  await saveHeld(tx, change.heldSaved);
}

/** A trainer for whom something else was stored as due than follows from the sources. */
interface WrongDue {
  trainerId: string;
  days: string[];
}

/** Computes everything again from the sources, and corrects what was stored. */
export async function recountDue(ctx: Context, signal?: AbortSignal, onProgress?: () => void): Promise<WrongDue[]> {
  await refreshDue(ctx, signal, onProgress);
  const wrong: WrongDue[] = [];
  for (let after = ''; !signal?.aborted; ) {
    const { trainerIds, change } = await inTransaction(ctx.database, async (tx) => {
      const trainerIds = await listWorkedTrainers(tx, after, atOnce.trainers);
      const change = await findChange(ctx, tx, { trainerIds, fromDay: '' });
      await applyChange(tx, change);
      return { trainerIds, change };
    });
    const last = trainerIds.at(-1);
    if (last === undefined) return wrong;
    wrong.push(...toWrong(change));
    after = last;
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

/**
 * What is due and what is held for these trainers, as it follows from the sources. It changes nothing.
 *
 * @param includesImport an import that does not count yet, to be treated as if it did
 */
export async function attributeTrainers(
  ctx: Context,
  db: Transaction,
  span: WorkSpan,
  includesImport?: number,
): Promise<Attributed> {
  const { database } = ctx;
  const observations = [
    ...(await toolObservations(database, db, span)),
    ...(await importedObservations(database, db, span, includesImport)),
  ];
  if (observations.length === 0) return { due: [], held: [] };
  const candidatesOf = findCandidates(await listEngagements(database, db, span.trainerIds), (engagement) => ({
    scope: scopeOfLink(ctx, engagement),
    timeZone: timeZoneOf(ctx, engagement.externalProjectId),
  }));
  const decisions = await loadDecisions(database, db, span.trainerIds);
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
