import { inTransaction, type Transaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import type { Storage } from '../keys/storage.ts';
import type { DueBudget } from './budget-store.ts';

// The SQL of which budgets are due, and of the installs that are left to rest because none of theirs can be read.

/** Those of these installs with a budget to read. */
export async function installsWithBudgetsDue(
  ctx: Storage,
  installs: readonly string[],
  now: string,
): Promise<string[]> {
  if (installs.length === 0) return [];
  const rows = await selectDue(ctx.database.kysely, installs, now).select('budget.install').distinct().execute();
  return rows.map(({ install }) => install);
}

/** Those that have waited longest come first. */
export async function listDueBudgets(
  ctx: Storage,
  install: string,
  now: string,
  limit: number,
): Promise<(DueBudget & { rests: number })[]> {
  const rows = await selectDue(ctx.database.kysely, [install], now)
    .select(['contractId', 'nextReadAt', 'budget.attempts', 'budgetReader.attempts as rests'])
    .orderBy('nextReadAt')
    .orderBy('contractId')
    .limit(limit)
    .execute();
  return rows.map(({ nextReadAt, rests, ...row }) => ({
    ...row,
    install,
    dueAt: nextReadAt ?? now,
    rests: rests ?? 0,
  }));
}

/** Notes how the readings of an install go. Before `restUntil` none of its budgets is read. */
export async function keepBudgetReader(ctx: Storage, reader: Row<'budgetReader'>): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
    tx
      .insertInto('budgetReader')
      .values(reader)
      .onConflict((conflict) => conflict.column('install').doUpdateSet(reader))
      .execute(),
  );
}

/** Installs that could not be asked so often in a row, and why. */
export function listFailingReaders(ctx: Storage, times: number): Promise<{ install: string; failure: string }[]> {
  return ctx.database.kysely
    .selectFrom('budgetReader')
    .select(['install', 'failure'])
    .where('attempts', '>=', times)
    .where('failure', 'is not', null)
    .$narrowType<{ failure: string }>()
    .orderBy('install')
    .execute();
}

function selectDue(tx: Transaction, installs: readonly string[], now: string) {
  return tx
    .selectFrom('budget')
    .leftJoin('budgetReader', 'budgetReader.install', 'budget.install')
    .where('budget.install', 'in', installs)
    .where('nextReadAt', '<=', now)
    .where((eb) => eb.or([eb('restUntil', 'is', null), eb('restUntil', '<=', now)]));
}
