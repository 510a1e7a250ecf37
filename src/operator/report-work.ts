import { keepAnswer } from '../budget/keep-budget.ts';
import type { Context } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import type { ContractKey } from '../domain/evidence.ts';
import { findContracts } from '../evidence/contract-store.ts';
import type { Storage } from '../keys/storage.ts';
import { reportUsage } from '../usage/report/report-usage.ts';

/**
 * Reports the days of a contract whose lowering was held.
 *
 * @throws AppError `unavailable` where the marketplace did not answer
 */
export async function acceptLowered(ctx: Context, by: By, of: ContractKey, signal: AbortSignal): Promise<void> {
  const { install, contractId } = of;
  await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'usage report --accept-lowered', contractId));
  const reports = await reportUsage(ctx, keepAnswer, { installs: [install], contractId, acceptsLowered: true }, signal);
  const failure = reports.find((one) => one.failure !== null)?.failure;
  if (failure) throw new AppError('unavailable', failure);
}

/** @throws AppError `not_found` if the one that is named does not exist */
export async function refuseUnknownContract(
  ctx: Storage,
  id: string | undefined,
  install: string | undefined,
): Promise<void> {
  if (id === undefined) return;
  const found = await findContracts(ctx.database.kysely, id, install);
  if (found.length === 0) throw new AppError('not_found', `There is no contract ${id}`);
}
