import { keepAnswer } from '../budget/keep-budget.ts';
import type { Context } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import type { ContractKey } from '../domain/evidence.ts';
import { findContracts } from '../evidence/contract-store.ts';
import type { Storage } from '../keys/storage.ts';
import type { ReportWanted } from '../usage/report/plan-install.ts';
import { type ReportPatience, reportNow } from '../usage/report/report-now.ts';
import { reportUsage } from '../usage/report/report-usage.ts';

export type ReportedWork = Awaited<ReturnType<typeof reportNow>>;

/** Reads the work in the tools and reports what has changed, for an operator; `by` is null for a scheduler. */
export async function reportWork(
  ctx: Context,
  by: By | null,
  wanted: ReportWanted,
  patience: ReportPatience,
): Promise<ReportedWork> {
  const { installs, contractId, acceptsLowered = false } = wanted;
  const reported = await reportNow(ctx, keepAnswer, wanted, patience);
  const action = acceptsLowered ? 'usage report --accept-lowered' : 'usage report';
  if (by === null) return reported;
  await inTransaction(ctx.database, (tx) => writeAudit(tx, by, action, contractId ?? installs.join(', ')));
  return reported;
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
