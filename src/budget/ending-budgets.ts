import type { Database } from '../db/database.ts';
import { paceDays, runsOutAt } from '../domain/budget-pace.ts';
import type { ContractKey } from '../domain/evidence.ts';
import type { Counts, Day } from '../domain/usage.ts';
import type { Storage } from '../keys/storage.ts';
import { addDays } from '../lib/add-days.ts';
import { type LedgerRow, listLedger } from '../usage/report/ledger-store.ts';
import { type BudgetFilter, type ListedBudget, listBudgets } from './budget-list-store.ts';

/** A budget, and when it is used up at the pace of the last week. */
export type EndingBudget = ListedBudget & { endsAt: string | null };

export async function listEndingBudgets(
  database: Database,
  now: Date,
  filter: Omit<BudgetFilter, 'since'>,
): Promise<EndingBudget[]> {
  const since = addDays(now.toISOString().slice(0, 10), -paceDays);
  const budgets = await listBudgets(database, { ...filter, since });
  return budgets.map((one) => ({ ...one, endsAt: one.unit === undefined ? null : runsOutAt(one.pace, now) }));
}

export interface UsedDay {
  day: Day;
  used: number;
}

/** What was reported of each day since the first one, in one unit, the latest first. */
export async function listUsedDays(
  ctx: Storage,
  { install, contractId }: ContractKey,
  unit: keyof Counts,
  firstDay: Day,
): Promise<UsedDay[]> {
  const rows = await listLedger(ctx, { install, contractIds: [contractId], firstDay });
  return sumByDay(rows, unit).filter(({ day }) => day >= firstDay);
}

function sumByDay(rows: readonly LedgerRow[], unit: keyof Counts): UsedDay[] {
  const days = Map.groupBy(rows, ({ day }) => day);
  return [...days]
    .map(([day, some]) => ({ day, used: some.reduce((sum, { answered }) => sum + (answered[unit] ?? 0), 0) }))
    .sort((a, b) => (a.day < b.day ? 1 : -1));
}
