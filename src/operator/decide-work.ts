import { type By, writeAudit } from '../db/audit-store.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import type { ContractKey } from '../domain/evidence.ts';
import { compareContract } from '../usage/compare/compare-work.ts';
import { dropHeldDifference } from '../usage/compare/comparison-store.ts';
import type { ReportDeps } from '../usage/report/report-deps.ts';
import { reportUsage } from '../usage/report/report-usage.ts';
import { decideHeld } from '../usage/show/decide-held.ts';

interface DecideWorkDeps {
  database: Database;
  usage: ReportDeps;
  by: By;
}

/**
 * Assigns held work to a contract, or discards it for null. The next report sends it.
 *
 * @param trainerId whose work it is, where that is known
 * @returns what was decided, in words
 * @throws AppError `not_found` where no such work is held, `invalid` for a contract it cannot be of
 */
export async function decideHeldWork(
  { database, usage, by }: DecideWorkDeps,
  id: string,
  contractId: string | null,
  trainerId?: string,
): Promise<string> {
  const { contracts } = await decideHeld(usage, id, contractId, trainerId);
  const decision = contractId === null ? 'discarded' : `assigned to ${contractId}`;
  await inTransaction(database, (tx) => writeAudit(tx, by, 'usage held', `${id} ${decision}`));
  await dropHeldDifference(usage, id);
  for (const one of contracts) await compareContract(usage, one);
  return decision;
}

/**
 * Reports the days of a contract whose lowering was held.
 *
 * @throws AppError `unavailable` where the marketplace did not answer
 */
export async function acceptLowered(
  { database, usage, by }: DecideWorkDeps,
  of: ContractKey,
  signal: AbortSignal,
): Promise<void> {
  const { install, contractId } = of;
  await inTransaction(database, (tx) => writeAudit(tx, by, 'usage report --accept-lowered', contractId));
  const reports = await reportUsage(usage, { installs: [install], contractId, acceptsLowered: true }, signal);
  await compareContract(usage, of);
  const failure = reports.find((one) => one.failure !== null)?.failure;
  if (failure) throw new AppError('unavailable', failure);
}
