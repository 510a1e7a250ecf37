import type { Context } from '../../context.ts';
import type { Counts } from '../../domain/usage.ts';
import { instantIn } from '../../lib/clock.ts';
import type { DueDay } from '../attribute/attribute-work.ts';
import { openDue } from '../attribute/load-due.ts';
import type { LedgerKey, LedgerRow } from '../report/ledger-store.ts';
import { listLoweredDays } from '../report/lowering-store.ts';

/** A day of which less was seen than was reported. */
export interface Lowering extends LedgerKey {
  install: string;
  /** `held`: an operator has to accept it; `reported`: it was sent. */
  state: 'held' | 'reported';
  /** Since when it is held, or when it was sent. */
  since: string;
  from: Counts;
  /** Null where nothing is seen of the day at present. */
  to: Counts | null;
}

/** Held days of any age, and days that were reported lower within the look-back. Changes nothing. */
export async function listLowerings(ctx: Context, installs: readonly string[]): Promise<Lowering[]> {
  const since = instantIn(ctx.clock, -ctx.config.usage.lookbackMs);
  const rows = await listLoweredDays(ctx, installs, since);
  const seen = await loadSeen(ctx, rows);
  return rows.flatMap((row) => [
    ...toHeld(row, seen.get(dayKey(row)) ?? null),
    ...toReported(row).filter((one) => one.since >= since),
  ]);
}

function toHeld(row: LedgerRow, to: Counts | null): Lowering[] {
  const { heldSince, answered } = row;
  if (heldSince === null) return [];
  return [{ ...toKey(row), state: 'held', since: heldSince, from: answered, to }];
}

function toReported(row: LedgerRow): Lowering[] {
  const { lowered, answered } = row;
  if (lowered === null) return [];
  return [{ ...toKey(row), state: 'reported', since: lowered.at, from: lowered.from, to: answered }];
}

function toKey({ install, contractId, trainerId, day }: LedgerRow) {
  return { install, contractId, trainerId, day };
}

/** What is due on the held days. */
async function loadSeen(ctx: Context, rows: readonly LedgerRow[]): Promise<Map<string, Counts>> {
  const waiting = rows.filter(({ heldSince }) => heldSince !== null);
  if (waiting.length === 0) return new Map();
  const due = await openDue(ctx);
  const people = [...new Set(waiting.map(({ trainerId }) => trainerId))];
  const { due: days } = await due.load(people);
  return new Map(days.map((day) => [dayKey(day), day.counts]));
}

function dayKey({ install, contractId, trainerId, day }: DueDay | LedgerRow): string {
  return JSON.stringify([install, contractId, trainerId, day]);
}
