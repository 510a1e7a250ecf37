import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Context } from '../../context.ts';
import { inTransaction, type Transaction } from '../../db/database.ts';
import { readSetting, writeSetting } from '../../db/setting-store.ts';
import { AppError } from '../../domain/errors.ts';
import { countNames, type Day, isLower, noCounts, sumCounts } from '../../domain/usage.ts';
import { toInstant } from '../../lib/clock.ts';
import type { DueDay } from '../attribute/attribute-work.ts';
import { dayKey, releaseDays, reopenDays } from '../report/ledger-store.ts';
import { attributeTrainers } from './attribute-trainers.ts';
import { dropDue, loadDueOf, type StoredDue, saveDue } from './due-store.ts';
import { dropHeld, type HeldRow, loadHeldOf, saveHeld, toHeldRow } from './held-store.ts';
import { chooseStale, markAllStale, takeStale } from './stale-store.ts';

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
