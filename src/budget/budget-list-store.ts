import { sql } from 'kysely';
import type { Storage } from '../context.ts';
import type { Database } from '../db/database.ts';
import { given, jsonTexts, onSame } from '../db/query.ts';
import { type BudgetState, paceDays, runsOutAt } from '../domain/budget.ts';
import type { ContractKey } from '../domain/evidence.ts';
import type { Counts, Day } from '../domain/usage.ts';
import { addDays } from '../lib/days.ts';
import { differs, isCounted, sameDay } from '../usage/due/due-store.ts';
import { listHeld } from '../usage/due/held-store.ts';
import { listLedger } from '../usage/report/ledger-store.ts';
import { budgetKey, nextReading, sayUnknown } from './budget-store.ts';

// The SQL that shows budgets to people, a page at a time.

export interface BudgetFilter {
  install?: string | undefined;
  state?: BudgetState | undefined;
  contractId?: string | undefined;
  /** The last contract of the page before. */
  after?: ContractKey | undefined;
  limit: number;
}

/** What uses up the budget. A contract with a fixed price, for example, has no volume that work uses up. */
const units: Record<string, 'seconds' | 'labels'> = { PAY_PER_HOUR: 'seconds', PAY_PER_LABEL: 'labels' };

/** Budgets by install and contract, and when each is used up at the pace of the last week. */
export async function listBudgets(ctx: Storage, now: Date, filter: BudgetFilter) {
  const rows = await listPage(ctx.database, filter);
  const worked = await sumWork(ctx.database, rows, addDays(now.toISOString().slice(0, 10), -paceDays));
  const unsent = await countUnsent(ctx.database, rows);
  const held = await countHeld(ctx);
  return rows.map(sayUnknown).map(({ notFoundAt: _, paymentType, consumedSeconds, consumedLabels, ...row }) => {
    const { key } = budgetKey(row);
    const unit = units[paymentType ?? ''] ?? null;
    const consumed = unit && { seconds: consumedSeconds, labels: consumedLabels }[unit];
    const lately = unit === null ? 0 : Number(worked.get(key)?.[unit] ?? 0);
    const endsAt = runsOutAt({ consumedFraction: row.consumedFraction, consumed, lately }, now);
    // Days of trainers that the marketplace does not have as they are due, or that are held.
    const waiting = (unsent.get(key) ?? 0) + (held.get(key) ?? 0);
    return { ...row, unit, lately, endsAt: unit && endsAt, waiting };
  });
}

function listPage({ kysely }: Database, { install, state, contractId, after, limit }: BudgetFilter) {
  const wanted = { 'budget.install': install, 'budget.state': state, 'budget.contractId': contractId };
  let query = kysely
    .selectFrom('budget')
    .leftJoin('contract', onSame('contract', 'budget', ['install', 'contractId']))
    .select(['budget.install', 'budget.contractId', 'budget.state', 'stateSince', 'contract.title'])
    .select(['fundedVolume', 'consumedVolume', 'remainingVolume', 'consumedFraction'])
    .select(['askedAt', 'notFoundAt', 'paymentType', 'consumedSeconds', 'consumedLabels'])
    .select((eb) => [nextReading(eb, 'dueAt').as('nextReadAt'), nextReading(eb, 'failure').as('failure')])
    .where((eb) => eb.and(given(wanted)));
  if (after !== undefined) {
    query = query.where((eb) =>
      eb(eb.refTuple('budget.install', 'budget.contractId'), '>', eb.tuple(after.install, after.contractId)),
    );
  }
  return query.orderBy('budget.install').orderBy('budget.contractId').limit(limit).execute();
}

async function sumWork(database: Database, of: readonly ContractKey[], since: Day) {
  const rows = await database.kysely
    .selectFrom('usageLedger')
    .select(['install', 'contractId'])
    .select((eb) => [eb.fn.sum<number>('seconds').as('seconds'), eb.fn.sum<number>('labels').as('labels')])
    .where('install', 'in', installsOf(database, of))
    .where('contractId', 'in', contractsOf(database, of))
    // As a computed text, or SQLite would search all contracts by their days.
    .where(sql<string>`day || ''`, '>=', since)
    .groupBy(['install', 'contractId'])
    .execute();
  return new Map(rows.map((row) => [budgetKey(row).key, row]));
}

/** Counts the days that the marketplace does not have as they are due. */
async function countUnsent(database: Database, of: readonly ContractKey[]): Promise<Map<string, number>> {
  const query = sql<ContractKey & { count: number }>`select d.install, d.contract_id, count(*) as count
    from usage_due d left join usage_ledger l on ${sameDay}
    where d.install in ${installsOf(database, of)} and d.contract_id in ${contractsOf(database, of)} and d.is_open = 1
      and (l.state <> 'answered' or ${differs}) and (l.state is not null or ${isCounted})
    group by d.install, d.contract_id`;
  const { rows } = await query.execute(database.kysely);
  return new Map(rows.map((row) => [budgetKey(row).key, row.count]));
}

function installsOf(database: Database, contracts: readonly ContractKey[]) {
  return jsonTexts(database, [...new Set(contracts.map(({ install }) => install))]);
}

function contractsOf(database: Database, contracts: readonly ContractKey[]) {
  return jsonTexts(database, [...new Set(contracts.map(({ contractId }) => contractId))]);
}

/** Counts the held work that may be of each contract. */
async function countHeld(ctx: Storage): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const keys = (await listHeld(ctx, { state: 'held' })).flatMap(({ contracts }) => contracts.map(budgetKey));
  for (const { key } of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

/** What was reported of each day since the first one in one unit, latest first. */
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
