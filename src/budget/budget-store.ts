import { type SqlBool, sql } from 'kysely';
import { inTransaction, type Transaction } from '../db/database.ts';
import { lockRows } from '../db/lease.ts';
import type { Row } from '../db/schema.ts';
import type { BudgetState } from '../domain/budget.ts';
import type { ContractKey } from '../domain/evidence.ts';
import type { Storage } from '../keys/storage.ts';

// The only SQL of what is known of budgets: one row per contract.

export interface DueBudget extends ContractKey {
  dueAt: string;
  attempts: number;
}

export interface FailedReading {
  askedAt: string;
  failure: string;
  nextReadAt: string;
  /** Whether the marketplace answered that the contract does not exist. */
  isNotFound: boolean;
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

/** Changes nothing where a reading was asked for or came in meanwhile. */
export async function postponeBudget(
  ctx: Storage,
  due: DueBudget,
  { askedAt, failure, nextReadAt, isNotFound }: FailedReading,
): Promise<void> {
  const notFoundAt = isNotFound ? askedAt : null;
  await inTransaction(ctx.database, (tx) =>
    at(tx, due)
      .set({ failure, nextReadAt, notFoundAt, attempts: isNotFound ? 0 : due.attempts + 1 })
      .where('nextReadAt', '=', due.dueAt)
      .where((eb) => eb.or([eb('askedAt', 'is', null), eb('askedAt', '<=', askedAt)]))
      .execute(),
  );
}

/** Budgets of active contracts. */
export function countBudgetsByState(ctx: Storage): Promise<{ install: string; state: BudgetState; count: number }[]> {
  return ctx.database.kysely
    .selectFrom('budget')
    .select((eb) => ['install', 'state', eb.fn.countAll<number>().as('count')])
    .where('nextReadAt', 'is not', null)
    .where('state', 'is not', null)
    .$narrowType<{ state: BudgetState }>()
    .groupBy(['install', 'state'])
    .orderBy('install')
    .orderBy('state')
    .execute();
}

/** How many active contracts of each install have failed to be read so often. */
export function countFailingBudgets(ctx: Storage, times: number): Promise<{ install: string; count: number }[]> {
  return (
    ctx.database.kysely
      .selectFrom('budget')
      .select((eb) => ['install', eb.fn.countAll<number>().as('count')])
      .where('nextReadAt', 'is not', null)
      // As the condition of the index has it: nearly all can be read.
      .where(sql<SqlBool>`(attempts > 0 or not_found_at is not null)`)
      .where((eb) => eb.or([eb('attempts', '>=', times), eb('notFoundAt', 'is not', null)]))
      .groupBy('install')
      .orderBy('install')
      .execute()
  );
}

/** The budgets of every install that has a contract of this id. */
export function findBudgets(ctx: Storage, contractId: string): Promise<Row<'budget'>[]> {
  return ctx.database.kysely
    .selectFrom('budget')
    .selectAll()
    .where('contractId', '=', contractId)
    .orderBy('install')
    .execute();
}

function at(tx: Transaction, { install, contractId }: ContractKey) {
  return tx.updateTable('budget').where('install', '=', install).where('contractId', '=', contractId);
}
