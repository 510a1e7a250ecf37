import { type ExpressionBuilder, sql } from 'kysely';
import { inTransaction, type Transaction } from '../db/database.ts';
import { lockRows } from '../db/lease.ts';
import { onSame } from '../db/query.ts';
import type { Row, Tables } from '../db/schema.ts';
import type { BudgetState } from '../domain/budget.ts';
import type { ContractKey, GrantEvidence } from '../domain/evidence.ts';
import type { ContractRegisters, LinkRegisters } from '../domain/evidence-status.ts';
import type { JobKey } from '../jobs/job.ts';
import { dropJob, wantJobs } from '../jobs/job-store.ts';
import type { Storage } from '../keys/storage.ts';

// The SQL of what is known of budgets: one row per contract.

export function budgetKey({ install, contractId }: ContractKey): JobKey {
  return { key: `${install}/${contractId}`, install };
}

/** Reads the row and locks it until the transaction ends; adds one where there is none. */
export async function lockBudget(
  ctx: Storage,
  tx: Transaction,
  { install, contractId }: ContractKey,
): Promise<Row<'budget'>> {
  await tx
    .insertInto('budget')
    .values({ install, contractId })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const row = tx.selectFrom('budget').selectAll().where('install', '=', install).where('contractId', '=', contractId);
  return await lockRows(ctx.database, row).executeTakeFirstOrThrow();
}

export async function saveBudget(tx: Transaction, row: Row<'budget'>): Promise<void> {
  await at(tx, row).set(row).execute();
}

/** The marketplace answered that there is no such contract. Changes nothing where an answer came in meanwhile. */
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

/** How many active contracts of each install the marketplace does not have. */
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

/** What is known of the job that reads a budget; null where none does. */
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

/** In the form of the condition of the index. */
function isWatched() {
  return sql<boolean>`is_watched = 1`;
}

/** A contract, and how far the reading of its budget has come. */
export interface SweptContract extends ContractKey, ContractRegisters {
  budgetEventAt: string | null;
  isWatched: boolean;
  metEventAt: string | null;
  notFoundAt: string | null;
}

/** Contracts that may be active, and those whose budget is read, in the order of their key. */
export async function pageSweptContracts(
  ctx: Storage,
  after: ContractKey | null,
  limit: number,
): Promise<SweptContract[]> {
  let rows = ctx.database.kysely
    .selectFrom('contract')
    .leftJoin('budget', onSame('budget', 'contract', ['install', 'contractId']))
    .select(['contract.install', 'contract.contractId', 'budgetEventAt'])
    .select(['startedEventAt', 'endedEventAt', 'activeReadAt', 'endedReadAt'])
    .select(['endedByOperatorAt', 'reopenedAt', 'isWatched', 'metEventAt', 'notFoundAt'])
    // A contract that a reading found ended has ended for good.
    .where((eb) => eb.or([eb('endedReadAt', 'is', null), eb('isWatched', '=', true)]))
    .orderBy('contract.install')
    .orderBy('contract.contractId')
    .limit(limit);
  if (after !== null) {
    rows = rows.where((eb) =>
      eb(eb.refTuple('contract.install', 'contract.contractId'), '>', eb.tuple(after.install, after.contractId)),
    );
  }
  return (await rows.execute()).map((row) => ({ ...row, isWatched: row.isWatched ?? false }));
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

/** Has the budgets of these contracts read now, and from time to time. */
export async function watchBudgets(tx: Transaction, contracts: readonly SweptContract[], now: string): Promise<void> {
  if (contracts.length === 0) return;
  const met = { isWatched: true, notFoundAt: null };
  await tx
    .insertInto('budget')
    .values(
      contracts.map(({ install, contractId, budgetEventAt }) => {
        return { install, contractId, ...met, metEventAt: budgetEventAt };
      }),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['install', 'contractId'])
        .doUpdateSet((eb) => ({ ...met, metEventAt: eb.ref('excluded.metEventAt') })),
    )
    .execute();
  await wantJobs(tx, 'budget', contracts.map(budgetKey), now);
}

export async function unwatchBudget(tx: Transaction, contract: ContractKey): Promise<void> {
  await at(tx, contract).set({ isWatched: false }).execute();
  await dropJob(tx, 'budget', budgetKey(contract).key);
}

/** The same for an install that is removed. */
export async function unwatchBudgetsOf(tx: Transaction, install: string): Promise<void> {
  await tx.updateTable('budget').set({ isWatched: false }).where('install', '=', install).execute();
}
