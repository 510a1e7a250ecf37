import type { Context } from '../context.ts';
import type { Database } from '../db/database.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import type { Counts } from '../domain/usage.ts';
import { findContracts } from '../evidence/contract-store.ts';
import { maskText } from '../lib/mask.ts';
import { findImport } from '../usage/import/import-store.ts';
import { type ConsumedExplanation, explainConsumed } from '../usage/show/explain-consumed.ts';
import { type ContractGaps, showGaps } from '../usage/show/show-gaps.ts';
import { type ShownContract, type ShownDay, showUsage } from '../usage/show/show-usage.ts';
import { type ListedHeld, toListed } from './held-work.ts';

/** The work on one contract, as the tool, the ledger and the marketplace know it. */
export interface DescribedUsage extends Omit<ShownContract, 'ledger' | 'held'>, ContractGaps {
  title: string | null;
  /** Work that may be of the contract: held, or decided by an operator. */
  held: ListedHeld[];
  /** The names of the imported files, by source. */
  files: Record<string, string>;
  /** What the marketplace says was consumed; a text that says why, if it gave no answer. */
  consumed: Counts | string;
  /** How that compares with what was reported; null without an answer. */
  explained: ConsumedExplanation | null;
}

/**
 * Asks the marketplace what was consumed, unless only what is stored is wanted. Changes nothing.
 *
 * @throws AppError `not_found` where there is no such contract, `conflict` where several installs have one
 */
export async function describeUsage(
  ctx: Context,
  { contract: id, install: named, stored }: { contract: string; install?: string | undefined; stored: boolean },
  signal: AbortSignal,
): Promise<DescribedUsage> {
  const [contract, other] = await findContracts(ctx.database.kysely, id, named);
  if (contract === undefined) throw new AppError('not_found', `There is no contract ${id}`);
  if (other !== undefined) throw new AppError('conflict', `Several installs have a contract ${id}: name one`);
  const { install, title } = contract;
  const { ledger, held, ...shown } = await showUsage(ctx, { install, contractId: id });
  const consumed = stored
    ? 'The marketplace was not asked.'
    : await readConsumed(ctx, { install, contractId: id }, signal);
  const explained = typeof consumed === 'string' ? null : explainConsumed(ledger, shown.reported, consumed);
  const gaps = await showGaps(ctx, install, id);
  const files = await nameFiles(ctx.database, shown.days);
  return { ...shown, title, held: held.map(toListed), ...gaps, files, consumed, explained };
}

async function nameFiles(database: Database, days: readonly ShownDay[]): Promise<Record<string, string>> {
  const seenBy = new Set(days.flatMap(({ observations }) => observations.map(({ source }) => source)));
  const files: Record<string, string> = {};
  for (const source of seenBy) {
    const id = /^import:(\d+)$/.exec(source)?.[1];
    const found = id === undefined ? undefined : await findImport(database.kysely, Number(id));
    if (found !== undefined) files[source] = found.fileName;
  }
  return files;
}

async function readConsumed(
  { sources }: Context,
  { install, contractId }: { install: string; contractId: string },
  signal: AbortSignal,
): Promise<Counts | string> {
  try {
    const budget = await sources.get(install)?.readBudget(contractId, signal);
    return budget?.consumed ?? 'The marketplace does not say what was consumed.';
  } catch (error) {
    return maskText(toAppError(error).message);
  }
}
