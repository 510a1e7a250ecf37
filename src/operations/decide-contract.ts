import { setTimeout as sleep } from 'node:timers/promises';
import type { Storage } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { type ContractEvidence, emptyContract, emptyEvidence } from '../domain/evidence.ts';
import { statusOfContract } from '../domain/evidence-status.ts';
import { findContracts } from '../evidence/contract-store.ts';
import { mergeEvidence } from '../evidence/evidence-store.ts';
import { lockEvidence, postponeTouchedTrainers } from '../memberships/derivation-store.ts';
import { wantRead } from '../reconcile/read/install-state-store.ts';
import { type EndApproval, isGranted, type Source } from '../sources/source.ts';

/**
 * Adds an operator's word about a contract as evidence. The running workers then act on it. For one that goes on the
 * marketplace is read at once, as the addresses of its people may have been deleted while it counted as ended.
 *
 * @returns the contract as it was before
 * @throws AppError `not_found`, or `conflict` where the word would change nothing
 */
export async function decideContract(
  ctx: Storage,
  by: By,
  decision: 'end' | 'reopen',
  contractId: string,
  install: string | undefined,
): Promise<ContractEvidence> {
  return await inTransaction(ctx.database, async (tx) => {
    await lockEvidence(ctx, tx);
    const contract = await findOneContract(tx, contractId, install);
    refuseIdle(contract, decision);
    const said = toWord(contract, decision, by.at);
    const changed = await mergeEvidence(ctx, tx, { ...emptyEvidence(), contracts: [said] });
    await postponeTouchedTrainers(tx, changed, '');
    if (decision === 'reopen') await wantRead(tx, [contract.install], by.at, 'operator');
    await writeAudit(tx, by, `contracts ${decision}`, `${contract.install}/${contractId}`);
    return contract;
  });
}

/** @throws AppError `not_found`, or `conflict` where several installs have one of this id */
export async function findOneContract(
  tx: Transaction,
  contractId: string,
  install: string | undefined,
): Promise<ContractEvidence> {
  const [contract, ...others] = await findContracts(tx, contractId, install);
  if (contract === undefined) {
    const of = install === undefined ? '' : ` of ${install}`;
    throw new AppError('not_found', `There is no contract ${contractId}${of}`);
  }
  if (others.length === 0) return contract;
  const installs = [contract, ...others].map((one) => one.install).join(', ');
  throw new AppError(
    'conflict',
    `Several installs have a contract ${contractId} (${installs}): name one with --install`,
  );
}

function refuseIdle(contract: ContractEvidence, decision: 'end' | 'reopen'): void {
  const status = statusOfContract(contract);
  const { contractId } = contract;
  if (decision === 'end') {
    if (status !== 'ended') return;
    throw new AppError('conflict', `Contract ${contractId} has already ended`);
  }
  if (contract.endedReadAt !== null) {
    throw new AppError(
      'conflict',
      `The marketplace lists contract ${contractId} as ended, so only a new contract gives access again`,
    );
  }
  if (status === 'active' || status === 'unknown') {
    throw new AppError('conflict', `Contract ${contractId} has not ended`);
  }
}

/** The later decision counts, even if the earlier one came from a clock that is ahead of this one. */
function toWord(contract: ContractEvidence, decision: 'end' | 'reopen', now: string) {
  const { install, contractId, endedEventAt, endedByOperatorAt, reopenedAt } = contract;
  const contrary = decision === 'end' ? [reopenedAt] : [endedEventAt, endedByOperatorAt];
  const at = contrary.reduce<string>((latest, one) => (one === null || one < latest ? latest : justAfter(one)), now);
  const word = decision === 'end' ? { endedByOperatorAt: at } : { reopenedAt: at };
  return { ...emptyContract(install, contractId), ...word };
}

function justAfter(instant: string): string {
  return new Date(Date.parse(instant) + 1).toISOString();
}

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
