import { keepAnswer } from '../budget/keep-budget.ts';
import type { Context } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import type { ContractKey } from '../domain/evidence.ts';
import { compareContract } from '../usage/compare/compare-work.ts';
import { dropHeldDifference } from '../usage/compare/comparison-store.ts';
import { reportUsage } from '../usage/report/report-usage.ts';
import { decideHeld } from '../usage/show/decide-held.ts';

/**
 * Assigns held work to a contract, or discards it for null. The next report sends it.
 *
 * @param trainerId whose work it is, where that is known
 * @returns what was decided, in words
 * @throws AppError `not_found` where no such work is held, `invalid` for a contract it cannot be of
 */
export async function decideHeldWork(
  ctx: Context,
  by: By,
  id: string,
  contractId: string | null,
  trainerId?: string,
): Promise<string> {
  const { contracts } = await decideHeld(ctx, id, contractId, trainerId);
  const decision = contractId === null ? 'discarded' : `assigned to ${contractId}`;
  await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'usage held', `${id} ${decision}`));
  await dropHeldDifference(ctx, id);
  for (const one of contracts) await compareContract(ctx, one);
  return decision;
}

/**
 * Reports the days of a contract whose lowering was held.
 *
 * @throws AppError `unavailable` where the marketplace did not answer
 */
export async function acceptLowered(ctx: Context, by: By, of: ContractKey, signal: AbortSignal): Promise<void> {
  const { install, contractId } = of;
  await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'usage report --accept-lowered', contractId));
  const reports = await reportUsage(ctx, keepAnswer, { installs: [install], contractId, acceptsLowered: true }, signal);
  await compareContract(ctx, of);
  const failure = reports.find((one) => one.failure !== null)?.failure;
  if (failure) throw new AppError('unavailable', failure);
}
