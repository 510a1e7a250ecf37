import { inTransaction, type Transaction } from '../db/database.ts';
import { toAppError } from '../domain/errors.ts';
import type { BudgetNotice } from '../domain/notice.ts';
import type { Storage } from '../keys/storage.ts';
import type { Alerts } from '../lib/alerts.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Budget } from '../sources/source.ts';
import { lockBudget, saveBudget } from './budget-store.ts';
import { type BudgetReading, takeReading } from './take-reading.ts';

export interface KeepBudgetDeps extends Storage {
  /** Called in the transaction that stores the notice as sent. */
  addNotice(tx: Transaction, notice: BudgetNotice): Promise<void>;
  /** After what time an unchanged state is noticed again; null for never. */
  repeatMs: number | null;
  alerts: Alerts;
  logger: Logger;
  clock: Clock;
}

/** Stores what was read, together with the notice that is due. */
export async function keepBudget(deps: KeepBudgetDeps, reading: BudgetReading): Promise<void> {
  const { database, addNotice, repeatMs, clock } = deps;
  const rules = { now: clock.now(), repeatMs };
  const notice = await inTransaction(database, async (tx) => {
    const taken = takeReading(await lockBudget(deps, tx, reading), reading, rules);
    await saveBudget(tx, taken.row);
    if (taken.notice !== null) await addNotice(tx, taken.notice);
    return taken.notice;
  });
  if (notice !== null) raise(deps, notice);
}

/** Stores the budget that came with the answer to a usage report. */
export type KeepAnswer = (
  install: string,
  contractId: string,
  /** Null where the answer had no readable budget. */
  budget: Budget | null,
  /** When the request began. */
  askedAt: string,
) => Promise<void>;

export function createKeepAnswer(deps: KeepBudgetDeps): KeepAnswer {
  return async (install, contractId, budget, askedAt) => {
    if (budget === null || budget.contractId !== contractId) return;
    try {
      await keepBudget(deps, { install, contractId, budget, askedAt, dueAt: null });
    } catch (error) {
      // The usage was accepted and must not be sent again; the budget is read again later.
      const fields = { err: toAppError(error), install, contractId };
      deps.logger.warn(fields, 'The budget of an answer could not be kept');
    }
  };
}

/** Operators are alerted once per notice. A repeated notice raises no alert. */
function raise({ alerts, logger }: KeepBudgetDeps, notice: BudgetNotice): void {
  const { kind, install, contractId, isRepeat, budget } = notice;
  const fields = { install, contractId, notice: kind, isRepeat, ...budget };
  if (isRepeat) logger.info(fields, 'The budget of a contract is still as it was');
  else if (kind === 'budget.depleted') alerts.raise('budget_depleted', fields, 'The budget of a contract is used up');
  else if (kind === 'budget.low') alerts.raise('budget_low', fields, 'The budget of a contract is running out');
  else logger.info(fields, 'The budget of a contract is well again');
}
