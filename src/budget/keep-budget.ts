import type { Context } from '../context.ts';
import { inTransaction } from '../db/database.ts';
import { toAppError } from '../domain/errors.ts';
import type { ContractKey } from '../domain/evidence.ts';
import type { BudgetNotice } from '../domain/notice.ts';
import { moveJob } from '../jobs/job-store.ts';
import { toInstant } from '../lib/clock.ts';
import { addBudgetNotice } from '../notify/notice-store.ts';
import type { Budget } from '../sources/source.ts';
import { budgetKey, lockBudget, saveBudget } from './budget-store.ts';
import { type BudgetReading, type Taken, takeReading } from './take-reading.ts';

/** Stores what was read, together with the notice that is due. */
export async function keepBudget(ctx: Context, reading: BudgetReading): Promise<Taken> {
  const rules = { now: ctx.clock.now(), repeatMs: ctx.config.notifications.repeatMs };
  const taken = await inTransaction(ctx.database, async (tx) => {
    const taken = takeReading(await lockBudget(ctx, tx, reading), reading, rules);
    await saveBudget(tx, taken.row);
    if (taken.notice !== null) await addBudgetNotice(ctx, tx, taken.notice);
    return taken;
  });
  if (taken.notice !== null) logNotice(ctx, taken.notice);
  return taken;
}

/**
 * Stores the budget that came with the answer to a usage report.
 *
 * @param budget null where the answer had no readable budget
 * @param askedAt when the request began
 */
export async function keepAnswer(
  ctx: Context,
  { install, contractId }: ContractKey,
  budget: Budget | null,
  askedAt: string,
): Promise<void> {
  if (budget === null || budget.contractId !== contractId) return;
  try {
    const { nextReadAt: dueAt } = await keepBudget(ctx, { install, contractId, budget, askedAt });
    const now = toInstant(ctx.clock.now());
    await inTransaction(ctx.database, (tx) =>
      moveJob(tx, 'budget', budgetKey({ install, contractId }).key, { now, dueAt }),
    );
  } catch (error) {
    // The usage was accepted and must not be sent again; the budget is read again later.
    const fields = { err: toAppError(error), install, contractId };
    ctx.logger.warn(fields, 'The budget of an answer could not be kept');
  }
}

function logNotice({ logger }: Context, notice: BudgetNotice): void {
  const { kind, install, contractId, isRepeat, budget } = notice;
  const fields = { install, contractId, notice: kind, isRepeat, ...budget };
  if (isRepeat) logger.info(fields, 'The budget of a contract is still as it was');
  else if (kind === 'budget.depleted') logger.warn(fields, 'The budget of a contract is used up');
  else if (kind === 'budget.low') logger.warn(fields, 'The budget of a contract is running out');
  else logger.info(fields, 'The budget of a contract is well again');
}
