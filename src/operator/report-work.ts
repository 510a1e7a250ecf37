import { keepAnswer } from '../budget/keep-budget.ts';
import type { Context } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { findContracts } from '../evidence/contract-store.ts';
import type { Storage } from '../keys/storage.ts';
import { compareContract, compareWork } from '../usage/compare/compare-work.ts';
import { type ReportPatience, reportNow } from '../usage/report/report-now.ts';
import type { ReportWanted } from '../usage/report/report-wanted.ts';

export type ReportedWork = Awaited<ReturnType<typeof reportNow>>;

/** Reads the work in the tools, reports what has changed, and compares both again, for an operator; `by` is null for a scheduler. */
export async function reportWork(
  ctx: Context,
  by: By | null,
  wanted: ReportWanted,
  patience: ReportPatience,
): Promise<ReportedWork> {
  const { installs, contractId, acceptsLowered = false } = wanted;
  const reported = await reportNow(ctx, keepAnswer, wanted, patience);
  if (contractId === undefined) await compareWork(ctx, patience.signal);
  else for (const install of installs) await compareContract(ctx, { install, contractId });
  const action = acceptsLowered ? 'usage report --accept-lowered' : 'usage report';
  if (by === null) return reported;
  await inTransaction(ctx.database, (tx) => writeAudit(tx, by, action, contractId ?? installs.join(', ')));
  return reported;
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
