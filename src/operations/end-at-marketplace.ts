import { setTimeout as sleep } from 'node:timers/promises';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import type { ContractEvidence } from '../domain/evidence.ts';
import type { Storage } from '../keys/storage.ts';
import { wantRead } from '../reconcile/read/install-state-store.ts';
import { isGranted } from '../sources/scopes.ts';
import type { EndApproval, Source } from '../sources/source.ts';
import { findOneContract } from './decide-contract.ts';

interface EndOptions {
  /** Whether to wait for the decision; aborting the signal then ends the wait, not the approval. */
  follows: boolean;
  /** Shows what is about to end. @returns whether the operator typed the id of the contract */
  confirm(contract: ContractEvidence): Promise<boolean>;
  /** Called once, where a person at the marketplace must confirm the end. */
  onApproval(approval: EndApproval): void;
}

export interface EndedAtMarketplace {
  install: string;
  contractId: string;
  /** `pending` where it was left before a person had decided. */
  outcome: 'ended' | 'pending' | 'declined' | 'expired';
  /** Null where none was needed. */
  approval: EndApproval | null;
}

/** What ends a contract at the marketplace needs this scope, and nothing else of Gangway does. */
const scope = 'payments:write';
const [firstRestMs, longestRestMs] = [2000, 60_000];

/**
 * Asks the marketplace to end a contract, and follows the approval that a person there must confirm. What becomes of
 * the contract here follows from the reading alone, which is requested at the end.
 *
 * It may be repeated: while an approval is pending the marketplace gives the same one, so this takes the following up
 * again.
 *
 * @throws AppError `not_found`, `conflict` where the install cannot do so or it was not confirmed, `forbidden` without the scope
 */
export async function endAtMarketplace(
  ctx: Storage & { sources: ReadonlyMap<string, Source> },
  by: By,
  { contract: id, install: named }: { contract: string; install: string | undefined },
  { follows, confirm, onApproval }: EndOptions,
  signal: AbortSignal,
): Promise<EndedAtMarketplace> {
  const { database, sources } = ctx;
  const contract = await findOneContract(database.kysely, id, named);
  const { install } = contract;
  const source = sources.get(install);
  if (source?.endContract === undefined) {
    throw new AppError('conflict', `The token of ${install} cannot end contracts. The customer ends them`);
  }
  await requireScope(source, install, signal);
  if (!(await confirm(contract))) {
    throw new AppError('conflict', 'Nothing was requested, because the id of the contract was not typed');
  }
  // Before the call, because its answer may be lost.
  await inTransaction(database, (tx) => writeAudit(tx, by, 'contracts end-at-marketplace', `${install}/${id}`));
  const approval = await source.endContract(id, signal);
  if (approval !== null) onApproval(approval);
  const decided = approval === null || !follows ? approval : await follow(source, approval, signal);
  const outcome = decided === null ? 'ended' : toOutcome(decided);
  if (outcome === 'ended') await inTransaction(database, (tx) => wantRead(tx, [install], by.at));
  return { install, contractId: id, outcome, approval: decided };
}

async function requireScope(source: Source, install: string, signal: AbortSignal): Promise<void> {
  const { token, scopes } = await source.readGrant(signal);
  if (isGranted(token?.scopes ?? scopes ?? [], scope)) return;
  throw new AppError('forbidden', `The token of ${install} lacks the scope ${scope}: ${source.remedies.scopeMissing}`);
}

async function follow({ readApproval }: Source, first: EndApproval, signal: AbortSignal): Promise<EndApproval> {
  let approval = first;
  for (let restMs = firstRestMs; approval.status === 'pending'; restMs = Math.min(restMs * 2, longestRestMs)) {
    await sleep(restMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted || readApproval === undefined) return approval;
    approval = await readApproval(approval.id, signal).catch((error: unknown) => keepFollowing(error, approval));
  }
  return approval;
}

/** It takes up to three days, in which the marketplace may be away for a while. */
function keepFollowing(error: unknown, approval: EndApproval): EndApproval {
  if (error instanceof AppError && (error.code === 'unavailable' || error.code === 'rate_limited')) return approval;
  throw error;
}

function toOutcome({ status }: EndApproval): EndedAtMarketplace['outcome'] {
  return status === 'confirmed' ? 'ended' : status;
}
