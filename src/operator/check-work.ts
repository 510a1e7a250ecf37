import type { Context } from '../context.ts';
import { AppError } from '../domain/errors.ts';
import type { HeldReason } from '../domain/usage.ts';
import { type CheckedDay, type CheckSum, type CheckWanted, checkUsage, sumChecked } from '../usage/due/check-usage.ts';
import { describeDifference, describeHeld } from '../usage/due/describe-due.ts';
import { recountDue } from '../usage/due/recount.ts';

/** A day of `gangway usage check`. */
export interface ListedDay extends Omit<CheckedDay, 'held'> {
  /** Why work of the day is held, or was, before an operator discarded it. */
  reason: HeldReason | null;
}

export interface CheckedWork {
  sums: CheckSum[];
  /** The latest first. */
  days: ListedDay[];
  /** Days beyond those that are listed. */
  left: number;
}

interface CheckWish extends CheckWanted {
  /** Whether days on which nothing differs are listed too. */
  isAll: boolean;
  /** How many days are listed; the sums are of all. */
  limit?: number;
}

const mostDays = 5000;

/** What the sources have, what is due and what was answered: summed, and the days on which they differ. */
export async function checkWork(ctx: Context, { isAll, limit = mostDays, ...wanted }: CheckWish): Promise<CheckedWork> {
  const sums = new Map<string, CheckSum>();
  const days: ListedDay[] = [];
  let left = 0;
  for await (const one of checkUsage(ctx, wanted)) {
    sumChecked(sums, one);
    if (one.why === null && !isAll) continue;
    const { held, ...day } = one;
    if (days.length < limit) days.push({ ...day, reason: held?.reason ?? null });
    else left += 1;
  }
  return { sums: [...sums.values()].map(toCents), days: days.sort(latestFirst), left };
}

function toCents(sum: CheckSum): CheckSum {
  return { ...sum, usd: Math.round(sum.usd * 100) / 100 };
}

function latestFirst(one: ListedDay, other: ListedDay): number {
  if (one.day !== other.day) return one.day < other.day ? 1 : -1;
  const [key, otherKey] = [one, other].map(({ install, contractId, trainerId, id }) =>
    JSON.stringify([install, contractId, trainerId, id]),
  );
  return (key ?? '') < (otherKey ?? '') ? -1 : 1;
}

/** Why the day differs, in words; empty where it does not. */
export function sayDifference({ why, reason }: Pick<ListedDay, 'why' | 'reason'>): string {
  if (why === null) return '';
  return why === 'held' && reason !== null ? `held: ${describeHeld[reason]}` : describeDifference[why];
}

/** How much of what was stored as due did not follow from the sources. */
export interface RecountedWork {
  trainers: number;
  days: number;
}

/**
 * Works everything out anew from the sources, and mends what was stored.
 *
 * @throws AppError `unavailable` where it was cut off
 */
export async function recountWork(ctx: Context, signal: AbortSignal): Promise<RecountedWork> {
  const wrong = await recountDue(ctx, signal);
  if (signal.aborted) throw new AppError('unavailable', 'The recount was cut off: run it beside the database');
  return { trainers: wrong.length, days: wrong.reduce((sum, { days }) => sum + days.length, 0) };
}
