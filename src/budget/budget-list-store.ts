import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { jsonTexts, onSame } from '../db/query.ts';
import { type BudgetPace, type BudgetState, paceDays, runsOutAt } from '../domain/budget.ts';
import type { ContractKey } from '../domain/evidence.ts';
import type { Counts, Day } from '../domain/usage.ts';
import type { Storage } from '../keys/storage.ts';
import { addDays } from '../lib/days.ts';
import { differs, isCounted, sameDay } from '../usage/due/due-store.ts';
import { listHeld } from '../usage/due/held-store.ts';
import { listLedger } from '../usage/report/ledger-store.ts';
import { nextReading, sayUnknown } from './budget-store.ts';

/** The SQL of showing budgets to people, a page at a time. */

export interface BudgetFilter {
  install?: string | undefined;
  state?: BudgetState | undefined;
  contractId?: string | undefined;
  /** The last contract of the page before. */
  after?: ContractKey | undefined;
  limit: number;
  /** The first day that counts for the pace. */
  since: Day;
}

export interface ListedBudget
  extends Omit<BudgetRow, 'notFoundAt' | 'paymentType' | 'consumedSeconds' | 'consumedLabels'> {
  /** Undefined where no work uses it up. */
  unit: 'seconds' | 'labels' | undefined;
  pace: BudgetPace;
  /** How many days of trainers the marketplace does not have as they were read, or are held. */
  waiting: number;
}

type BudgetRow = Awaited<ReturnType<typeof listPage>>[number];

const units = { PAY_PER_HOUR: 'seconds', PAY_PER_LABEL: 'labels' } as const;

/** What uses up the budget. A contract of another kind, such as a fixed price, has no volume that work uses up. */
function unitOf(paymentType: string | null): 'seconds' | 'labels' | undefined {
  return units[paymentType as keyof typeof units];
}

/** Ordered by install and contract. */
export async function listBudgets(database: Database, filter: BudgetFilter): Promise<ListedBudget[]> {
  const rows = await listPage(database, filter);
  const worked = await listWorked(database, rows, filter.since);
  const waiting = await countWaiting(database, rows);
  return rows.map(sayUnknown).map(({ notFoundAt: _, paymentType, consumedSeconds, consumedLabels, ...row }) => {
    const unit = unitOf(paymentType);
    const consumed = unit === undefined ? null : { seconds: consumedSeconds, labels: consumedLabels }[unit];
    const lately = unit === undefined ? 0 : Number(worked.get(keyOf(row))?.[unit] ?? 0);
    const pace = { consumedFraction: row.consumedFraction, consumed, lately };
    return { ...row, unit, pace, waiting: Number(waiting.get(keyOf(row))?.count ?? 0) };
  });
}

function listPage({ kysely }: Database, { install, state, contractId, after, limit }: BudgetFilter) {
  let query = kysely
    .selectFrom('budget')
    .leftJoin('contract', onSame('contract', 'budget', ['install', 'contractId']))
    .select(['budget.install', 'budget.contractId', 'budget.state', 'stateSince', 'contract.title'])
    .select(['fundedVolume', 'consumedVolume', 'remainingVolume', 'consumedFraction'])
    .select(['askedAt', 'notFoundAt', 'paymentType', 'consumedSeconds', 'consumedLabels'])
    .select((eb) => [nextReading(eb, 'dueAt').as('nextReadAt'), nextReading(eb, 'failure').as('failure')]);
  if (install !== undefined) query = query.where('budget.install', '=', install);
  if (state !== undefined) query = query.where('budget.state', '=', state);
  if (contractId !== undefined) query = query.where('budget.contractId', '=', contractId);
  if (after !== undefined) {
    const key = ['budget.install', 'budget.contractId'] as const;
    query = query.where((eb) => eb(eb.refTuple(...key), '>', eb.tuple(after.install, after.contractId)));
  }
  return query.orderBy('budget.install').orderBy('budget.contractId').limit(limit).execute();
}

async function listWorked({ kysely }: Database, of: readonly ContractKey[], since: Day) {
  if (of.length === 0) return new Map<string, never>();
  const rows = await kysely
    .selectFrom('usageLedger')
    .select(['install', 'contractId'])
    .select((eb) => [eb.fn.sum<number>('seconds').as('seconds'), eb.fn.sum<number>('labels').as('labels')])
    .where('install', 'in', [...new Set(of.map(({ install }) => install))])
    .where('contractId', 'in', [...new Set(of.map(({ contractId }) => contractId))])
    // As a computed text, or SQLite would search all contracts by their days.
    .where(sql<string>`day || ''`, '>=', since)
    .groupBy(['install', 'contractId'])
    .execute();
  return new Map(rows.map((row) => [keyOf(row), row]));
}

/** Days of which the marketplace does not have what is due. */
async function countWaiting(database: Database, of: readonly ContractKey[]) {
  const installs = jsonTexts(database, [...new Set(of.map(({ install }) => install))]);
  const contractIds = jsonTexts(database, [...new Set(of.map(({ contractId }) => contractId))]);
  const query = sql<ContractKey & { count: number }>`select d.install, d.contract_id, count(*) as count
    from usage_due d left join usage_ledger l on ${sameDay}
    where d.install in ${installs} and d.contract_id in ${contractIds} and d.is_open = 1
      and (l.state <> 'answered' or ${differs}) and (l.state is not null or ${isCounted})
    group by d.install, d.contract_id`;
  const { rows } = await query.execute(database.kysely);
  return new Map(rows.map((row) => [keyOf(row), row]));
}

function keyOf({ install, contractId }: ContractKey): string {
  return JSON.stringify([install, contractId]);
}

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

/** What was reported of each day since the first one, in one unit, the latest first. */
export async function listUsedDays(
  ctx: Storage,
  of: ContractKey,
  unit: keyof Counts,
  firstDay: Day,
): Promise<{ day: Day; used: number }[]> {
  const days = Map.groupBy(await listLedger(ctx, of, firstDay), ({ day }) => day);
  return [...days]
    .map(([day, some]) => ({ day, used: some.reduce((sum, { answered }) => sum + (answered[unit] ?? 0), 0) }))
    .sort((a, b) => (a.day < b.day ? 1 : -1));
}
