import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { type ContractEvidence, emptyContract, emptyEvidence } from '../domain/evidence.ts';
import { statusOfContract } from '../domain/evidence-status.ts';
import { findContracts } from '../evidence/contract-store.ts';
import { mergeEvidence } from '../evidence/evidence-store.ts';
import type { Storage } from '../keys/storage.ts';
import { postponeTouchedTrainers } from '../memberships/derivation-store.ts';
import { lockEvidence } from '../memberships/lock-evidence.ts';
import { wantRead } from '../reconcile/read/install-state-store.ts';

export type ContractDecision = 'end' | 'reopen';

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
  decision: ContractDecision,
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

function refuseIdle(contract: ContractEvidence, decision: ContractDecision): void {
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

/** The later word counts, even if an earlier one came from a clock that is ahead of this one. */
function toWord(contract: ContractEvidence, decision: ContractDecision, now: string) {
  const { install, contractId, endedEventAt, endedByOperatorAt, reopenedAt } = contract;
  const contrary = decision === 'end' ? [reopenedAt] : [endedEventAt, endedByOperatorAt];
  const at = contrary.reduce<string>((latest, one) => (one === null || one < latest ? latest : justAfter(one)), now);
  const word = decision === 'end' ? { endedByOperatorAt: at } : { reopenedAt: at };
  return { ...emptyContract(install, contractId), ...word };
}

function justAfter(instant: string): string {
  return new Date(Date.parse(instant) + 1).toISOString();
}
