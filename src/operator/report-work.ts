import { type By, writeAudit } from '../db/audit-store.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { findContracts } from '../evidence/contract-store.ts';
import { compareContract } from '../usage/compare/compare-work.ts';
import type { Usage } from '../usage/create-usage.ts';
import { type ReportPatience, reportNow } from '../usage/report/report-now.ts';
import type { ReportWanted } from '../usage/report/report-wanted.ts';

interface ReportWorkDeps {
  database: Database;
  usage: Pick<Usage, 'deps'>;
  /** Null for a scheduler: then nothing was decided. */
  by: By | null;
}

export type ReportedWork = Awaited<ReturnType<typeof reportNow>>;

/** Reads the work in the tools, reports what has changed, and compares both again, for an operator. */
export async function reportWork(
  { database, usage: { deps }, by }: ReportWorkDeps,
  wanted: ReportWanted,
  patience: ReportPatience,
): Promise<ReportedWork> {
  const { installs, contractId, acceptsLowered = false } = wanted;
  const reported = await reportNow(deps, wanted, patience);
  if (contractId === undefined) await deps.compare(patience.signal, () => undefined);
  else for (const install of installs) await compareContract(deps, { install, contractId });
  const action = acceptsLowered ? 'usage report --accept-lowered' : 'usage report';
  if (by === null) return reported;
  await inTransaction(database, (tx) => writeAudit(tx, by, action, contractId ?? installs.join(', ')));
  return reported;
}

/** @throws AppError `not_found` if the one that is named does not exist */
export async function refuseUnknownContract(
  database: Database,
  id: string | undefined,
  install: string | undefined,
): Promise<void> {
  if (id === undefined) return;
  const found = await findContracts(database.kysely, id, install);
  if (found.length === 0) throw new AppError('not_found', `There is no contract ${id}`);
}
