import { type ExpressionBuilder, sql } from 'kysely';
import type { Storage } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { lockRows } from '../db/lock.ts';
import { onSame, upsert } from '../db/query.ts';
import type { Row, Tables } from '../db/schema.ts';
import type { BudgetState } from '../domain/budget.ts';
import type { ContractKey, GrantEvidence } from '../domain/evidence.ts';
import type { LinkRegisters } from '../domain/evidence-status.ts';
import type { JobKey } from '../jobs/job.ts';
import { dropJob, wantJobs } from '../jobs/job-store.ts';

// The SQL of budgets, one row for each contract.

export function budgetKey({ install, contractId }: ContractKey): JobKey {
  return { key: `${install}/${contractId}`, install };
}

/** Locks the row until the transaction ends. Adds it if there is none. */
export async function lockBudget(
  ctx: Storage,
  tx: Transaction,
  { install, contractId }: ContractKey,
): Promise<Row<'budget'>> {
  const insert = tx.insertInto('budget').values({ install, contractId });
  await insert.onConflict((conflict) => conflict.doNothing()).execute();
  const row = tx.selectFrom('budget').selectAll().where('install', '=', install).where('contractId', '=', contractId);
  return await lockRows(ctx.database, row).executeTakeFirstOrThrow();
}

export async function saveBudget(tx: Transaction, row: Row<'budget'>): Promise<void> {
  await at(tx, row).set(row).execute();
}

/** Notes that the marketplace has no such contract, unless a later request had an answer. */
export async function noteUnknownBudget(ctx: Storage, of: ContractKey, askedAt: string): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
    at(tx, of)
      .set({ notFoundAt: askedAt })
      .where((eb) => eb.or([eb('askedAt', 'is', null), eb('askedAt', '<=', askedAt)]))
      .execute(),
  );
}

/** Budgets of active contracts. */
export function countBudgetsByState(ctx: Storage): Promise<{ install: string; state: BudgetState; count: number }[]> {
  return ctx.database.kysely
    .selectFrom('budget')
    .select((eb) => ['install', 'state', eb.fn.countAll<number>().as('count')])
    .where(isWatched)
    .where('state', 'is not', null)
    .$narrowType<{ state: BudgetState }>()
    .groupBy(['install', 'state'])
    .orderBy('install')
    .orderBy('state')
    .execute();
}

/** Active contracts that the marketplace does not have. */
export function countUnknownBudgets(ctx: Storage): Promise<{ install: string; count: number }[]> {
  return ctx.database.kysely
    .selectFrom('budget')
    .select((eb) => ['install', eb.fn.countAll<number>().as('count')])
    .where('notFoundAt', 'is not', null)
    .where(isWatched)
    .groupBy('install')
    .orderBy('install')
    .execute();
}

/** A budget, when it is read next, and why it could not be read. */
export type BudgetAndReading = Row<'budget'> & { nextReadAt: string | null; failure: string | null };

/** The budgets of every install that has a contract of this id. */
export async function findBudgets(ctx: Storage, contractId: string): Promise<BudgetAndReading[]> {
  const rows = await ctx.database.kysely
    .selectFrom('budget')
    .selectAll('budget')
    .select((eb) => [nextReading(eb, 'dueAt').as('nextReadAt'), nextReading(eb, 'failure').as('failure')])
    .where('contractId', '=', contractId)
    .orderBy('install')
    .execute();
  return rows.map(sayUnknown);
}

/** A column of the job that reads a budget; null if there is none. */
export function nextReading(eb: ExpressionBuilder<Tables, 'budget'>, column: 'dueAt' | 'failure') {
  const key = sql<string>`budget.install || '/' || budget.contract_id`;
  return eb.selectFrom('job').select(column).where('kind', '=', 'budget').where('key', '=', key);
}

export function sayUnknown<One extends { notFoundAt: string | null; failure: string | null }>(budget: One): One {
  return budget.notFoundAt === null ? budget : { ...budget, failure: unknown };
}

const unknown = 'the marketplace has no such contract on a linked job';

function at(tx: Transaction, { install, contractId }: ContractKey) {
  return tx.updateTable('budget').where('install', '=', install).where('contractId', '=', contractId);
}

/** As the condition of the index is written. */
function isWatched() {
  return sql<boolean>`is_watched = 1`;
}

export type SweptContract = Awaited<ReturnType<typeof pageSweptContracts>>[number];

/** Contracts that may be active and those whose budget is read, by install and contract. */
export async function pageSweptContracts(ctx: Storage, after: ContractKey | null, limit: number) {
  let rows = ctx.database.kysely
    .selectFrom('contract')
    .leftJoin('budget', onSame('budget', 'contract', ['install', 'contractId']))
    .select(['contract.install', 'contract.contractId', 'budgetEventAt'])
    .select(['startedEventAt', 'endedEventAt', 'activeReadAt', 'endedReadAt'])
    .select(['endedByOperatorAt', 'reopenedAt', 'isWatched', 'metEventAt', 'notFoundAt'])
    // An end that was read is final.
    .where((eb) => eb.or([eb('endedReadAt', 'is', null), eb('isWatched', '=', true)]))
    .orderBy('contract.install')
    .orderBy('contract.contractId')
    .limit(limit);
  if (after !== null) {
    rows = rows.where((eb) =>
      eb(eb.refTuple('contract.install', 'contract.contractId'), '>', eb.tuple(after.install, after.contractId)),
    );
  }
  return await rows.execute();
}

/** All contracts from `first` to `last`. */
export function linksOfSweptContracts(
  ctx: Storage,
  first: ContractKey,
  last: ContractKey,
): Promise<(ContractKey & LinkRegisters)[]> {
  return ctx.database.kysely
    .selectFrom('contractLink')
    .innerJoin('link', onSame('link', 'contractLink', ['install', 'linkId']))
    .select(['contractLink.install', 'contractLink.contractId'])
    .select(['removedEventAt', 'seenAt', 'absences', 'externalProjectId'])
    .where((eb) => {
      const key = eb.refTuple('contractLink.install', 'contractLink.contractId');
      return eb.and([
        eb(key, '>=', eb.tuple(first.install, first.contractId)),
        eb(key, '<=', eb.tuple(last.install, last.contractId)),
      ]);
    })
    .execute();
}

export function listGrants(ctx: Storage): Promise<GrantEvidence[]> {
  return ctx.database.kysely.selectFrom('installGrant').selectAll().execute();
}

/** Makes the budgets of these contracts due now, and regularly from then on. */
export async function watchBudgets(tx: Transaction, contracts: readonly SweptContract[], now: string): Promise<void> {
  if (contracts.length === 0) return;
  const rows = contracts.map(({ install, contractId, budgetEventAt: metEventAt }) => {
    return { install, contractId, metEventAt, isWatched: true, notFoundAt: null };
  });
  await upsert(tx, 'budget', ['install', 'contractId'], rows);
  await wantJobs(tx, 'budget', contracts.map(budgetKey), now);
}

export async function unwatchBudget(tx: Transaction, contract: ContractKey): Promise<void> {
  await at(tx, contract).set({ isWatched: false }).execute();
  await dropJob(tx, 'budget', budgetKey(contract).key);
}

/** For an install that is removed. */
export async function unwatchBudgetsOf(tx: Transaction, install: string): Promise<void> {
  await tx.updateTable('budget').set({ isWatched: false }).where('install', '=', install).execute();
}
