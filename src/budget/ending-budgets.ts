import { paceDays, runsOutAt } from '../domain/budget-pace.ts';
import type { ContractKey } from '../domain/evidence.ts';
import type { Counts, Day } from '../domain/usage.ts';
import type { Storage } from '../keys/storage.ts';
import { addDays } from '../lib/add-days.ts';
import { listHeld } from '../usage/due/held-store.ts';
import { type LedgerRow, listLedger } from '../usage/report/ledger-store.ts';
import { type BudgetFilter, type ListedBudget, listBudgets } from './budget-list-store.ts';

/** A budget, and when it is used up at the pace of the last week. What waits includes held work. */
export type EndingBudget = ListedBudget & { endsAt: string | null };

export async function listEndingBudgets(
  ctx: Storage,
  now: Date,
  filter: Omit<BudgetFilter, 'since'>,
): Promise<EndingBudget[]> {
  const since = addDays(now.toISOString().slice(0, 10), -paceDays);
  const budgets = await listBudgets(ctx.database, { ...filter, since });
  const held = await countHeld(ctx);
  return budgets.map((one) => ({
    ...one,
    waiting: one.waiting + (held.get(keyOf(one)) ?? 0),
    endsAt: one.unit === undefined ? null : runsOutAt(one.pace, now),
  }));
}

/** How much held work may be of each contract. */
async function countHeld(ctx: Storage): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const { contracts } of await listHeld(ctx, { state: 'held' })) {
    for (const key of contracts.map(keyOf)) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

function keyOf({ install, contractId }: ContractKey): string {
  return JSON.stringify([install, contractId]);
}

export interface UsedDay {
  day: Day;
  used: number;
}

/** What was reported of each day since the first one, in one unit, the latest first. */
export async function listUsedDays(
  ctx: Storage,
  of: ContractKey,
  unit: keyof Counts,
  firstDay: Day,
): Promise<UsedDay[]> {
  return sumByDay(await listLedger(ctx, of, firstDay), unit);
}

function sumByDay(rows: readonly LedgerRow[], unit: keyof Counts): UsedDay[] {
  const days = Map.groupBy(rows, ({ day }) => day);
  return [...days]
    .map(([day, some]) => ({ day, used: some.reduce((sum, { answered }) => sum + (answered[unit] ?? 0), 0) }))
    .sort((a, b) => (a.day < b.day ? 1 : -1));
}
