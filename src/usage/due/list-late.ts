import type { Context } from '../../context.ts';
import type { Counts } from '../../domain/usage.ts';
import { instantIn } from '../../lib/clock.ts';
import { type DayKey, type LedgerRow, listLowered, reportIdOf } from '../report/ledger-store.ts';
import { planInstall, reportedOf } from '../report/plan-install.ts';
import { dayKey, listDays } from './due-store.ts';

/** A day whose counts changed after it was sent for the last time. */
export interface LateDay extends DayKey {
  /** Names the day for the operator's decision. */
  id: string;
  from: Counts;
  to: Counts;
}

/** They are listed until an operator sends or dismisses them, whatever their age. */
export async function listLate(ctx: Context, installs: readonly string[]): Promise<LateDay[]> {
  const late: LateDay[] = [];
  for (const install of reportedOf(ctx, installs)) {
    for await (const plan of planInstall(ctx, install, { installs })) {
      for (const { contractId, trainerId, day, counts, before } of plan.late) {
        const key = { install, contractId, trainerId, day };
        late.push({ ...key, id: reportIdOf(key), from: before, to: counts });
      }
    }
  }
  return late;
}

/** A day of which less is due than was reported. */
export interface Lowering extends DayKey {
  /** `held`: an operator has to accept it; `reported`: it was sent. */
  state: 'held' | 'reported';
  /** Since when it is held, or when it was sent. */
  since: string;
  from: Counts;
  /** Null where nothing is seen of the day at present. */
  to: Counts | null;
}

/** Held days of any age, and days that were reported lower within the look-back. */
export async function listLowerings(ctx: Context, installs: readonly string[]): Promise<Lowering[]> {
  const since = instantIn(ctx.clock, -ctx.config.usage.lookbackMs);
  const lowerings: Lowering[] = [];
  for (const install of installs) {
    const rows = await listLowered(ctx, install, since);
    const due = await loadDue(ctx, install, rows);
    lowerings.push(...rows.flatMap((row) => [...toHeld(row, due.get(dayKey(row)) ?? null), ...toReported(row, since)]));
  }
  return lowerings;
}

async function loadDue(ctx: Context, install: string, rows: readonly LedgerRow[]): Promise<Map<string, Counts>> {
  const contractIds = [...new Set(rows.flatMap((row) => (row.heldSince === null ? [] : [row.contractId])))];
  const due = new Map<string, Counts>();
  if (contractIds.length === 0) return due;
  for await (const days of listDays(ctx, { install, contractIds })) {
    for (const day of days) if (day.due !== undefined) due.set(dayKey(day.due), day.due.counts);
  }
  return due;
}

function toHeld(row: LedgerRow, to: Counts | null): Lowering[] {
  const { heldSince, answered } = row;
  return heldSince === null ? [] : [{ ...toKey(row), state: 'held', since: heldSince, from: answered, to }];
}

function toReported(row: LedgerRow, since: string): Lowering[] {
  const { lowered, answered } = row;
  if (lowered === null || lowered.at < since) return [];
  return [{ ...toKey(row), state: 'reported', since: lowered.at, from: lowered.from, to: answered }];
}

function toKey({ install, contractId, trainerId, day }: DayKey): DayKey {
  return { install, contractId, trainerId, day };
}
