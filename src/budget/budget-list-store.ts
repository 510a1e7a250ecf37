import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { jsonTexts } from '../db/json-list.ts';
import { onSame } from '../db/on-same.ts';
import type { Row } from '../db/schema.ts';
import type { BudgetState } from '../domain/budget.ts';
import type { BudgetPace } from '../domain/budget-pace.ts';
import type { ContractKey } from '../domain/evidence.ts';
import type { Day } from '../domain/usage.ts';
import { differs, isCounted, sameDay } from '../usage/due/due-store.ts';

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

type Facts = Pick<
  Row<'budget'>,
  | 'install'
  | 'contractId'
  | 'state'
  | 'stateSince'
  | 'fundedVolume'
  | 'consumedVolume'
  | 'remainingVolume'
  | 'consumedFraction'
  | 'askedAt'
  | 'nextReadAt'
  | 'failure'
>;

export interface ListedBudget extends Facts {
  title: string | null;
  /** Undefined where no work uses it up. */
  unit: 'seconds' | 'labels' | undefined;
  pace: BudgetPace;
  /** How many days of trainers the marketplace does not have as they were read, or are held. */
  waiting: number;
}

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
  return rows.map(({ paymentType, consumedSeconds, consumedLabels, ...row }) => {
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
    .select(['askedAt', 'nextReadAt', 'failure', 'paymentType', 'consumedSeconds', 'consumedLabels']);
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
