import type { Transaction } from '../db/database.ts';
import { onSame } from '../db/query.ts';
import type { ContractKey, GrantEvidence } from '../domain/evidence.ts';
import type { LinkRegisters } from '../domain/evidence-status.ts';
import type { Storage } from '../keys/storage.ts';
import type { SweptContract } from './judge-contract.ts';

// The SQL that finds the budgets which the evidence asks to be read.

export type LinkOfContract = ContractKey & LinkRegisters;

/** Contracts that may be active, and those whose budget is read, in the order of their key. */
export async function pageSweptContracts(
  ctx: Storage,
  after: ContractKey | null,
  limit: number,
): Promise<SweptContract[]> {
  let rows = ctx.database.kysely
    .selectFrom('contract')
    .leftJoin('budget', onSame('budget', 'contract', ['install', 'contractId']))
    .select(['contract.install', 'contract.contractId', 'budgetEventAt'])
    .select(['startedEventAt', 'endedEventAt', 'activeReadAt', 'endedReadAt'])
    .select(['endedByOperatorAt', 'reopenedAt', 'nextReadAt', 'metEventAt', 'notFoundAt'])
    .select('budget.install as known')
    // A contract that a reading found ended has ended for good.
    .where((eb) => eb.or([eb('endedReadAt', 'is', null), eb('nextReadAt', 'is not', null)]))
    .orderBy('contract.install')
    .orderBy('contract.contractId')
    .limit(limit);
  if (after !== null) {
    rows = rows.where((eb) =>
      eb(eb.refTuple('contract.install', 'contract.contractId'), '>', eb.tuple(after.install, after.contractId)),
    );
  }
  return (await rows.execute()).map(({ known, ...row }) => ({ ...row, isKnown: known !== null }));
}

/** All contracts from `first` to `last`. */
export function linksOfSweptContracts(ctx: Storage, first: ContractKey, last: ContractKey): Promise<LinkOfContract[]> {
  return ctx.database.kysely
    .selectFrom('contractLink')
    .innerJoin('link', onSame('link', 'contractLink', ['install', 'linkId']))
    .select(['contractLink.install', 'contractLink.contractId'])
    .select(['removedEventAt', 'seenAt', 'absences', 'externalProjectId'])
    .where((eb) => {
      const key = eb.refTuple('contractLink.install', 'contractLink.contractId');
      return eb.and([
        eb(key, '>=', eb.tuple(first.install, first.contractId)),
        eb(key, '<=', eb.tuple(last.install, last.contractId)),
      ]);
    })
    .execute();
}

export function listGrants(ctx: Storage): Promise<GrantEvidence[]> {
  return ctx.database.kysely.selectFrom('installGrant').selectAll().execute();
}

/** Changes nothing where the contract changed since it was swept. */
export async function wantBudgets(tx: Transaction, contracts: readonly SweptContract[], now: string): Promise<void> {
  const fresh = contracts.filter(({ isKnown }) => !isKnown);
  if (fresh.length > 0) {
    const rows = fresh.map(({ install, contractId, budgetEventAt }) => ({
      install,
      contractId,
      nextReadAt: now,
      metEventAt: budgetEventAt,
    }));
    await tx
      .insertInto('budget')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  for (const contract of contracts) {
    if (!contract.isKnown) continue;
    const wanted = { nextReadAt: now, notFoundAt: null, attempts: 0 };
    await as(tx, contract)
      .set({ ...wanted, metEventAt: contract.budgetEventAt })
      .execute();
  }
}

export async function endBudget(tx: Transaction, contract: SweptContract): Promise<void> {
  await as(tx, contract).set({ nextReadAt: null }).execute();
}

function as(tx: Transaction, { install, contractId, nextReadAt, metEventAt }: SweptContract) {
  return tx
    .updateTable('budget')
    .where('install', '=', install)
    .where('contractId', '=', contractId)
    .where('nextReadAt', 'is not distinct from', nextReadAt)
    .where('metEventAt', 'is not distinct from', metEventAt);
}
