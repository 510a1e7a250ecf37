import type { Database, Transaction } from '../db/database.ts';
import { onSame } from '../db/on-same.ts';
import type { ContractKey, GrantEvidence } from '../domain/evidence.ts';
import type { LinkRegisters } from '../domain/evidence-status.ts';
import type { SweptContract } from './judge-contract.ts';

/** The SQL that finds the budgets which the evidence asks to be read. */
export interface SweepStore {
  /** Contracts that may be active, and those whose budget is read, in the order of their key. */
  page(after: ContractKey | null, limit: number): Promise<SweptContract[]>;
  /** All contracts from `first` to `last`. */
  linksOf(first: ContractKey, last: ContractKey): Promise<LinkOfContract[]>;
  grants(): Promise<GrantEvidence[]>;
  /** Changes nothing where the contract changed since it was swept. */
  want(tx: Transaction, contracts: readonly SweptContract[], now: string): Promise<void>;
  end(tx: Transaction, contract: SweptContract): Promise<void>;
}

export type LinkOfContract = ContractKey & LinkRegisters;

export function createSweepStore({ kysely }: Pick<Database, 'kysely'>): SweepStore {
  return {
    async page(after, limit) {
      let rows = kysely
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
    },

    linksOf: (first, last) =>
      kysely
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
        .execute(),

    grants: () => kysely.selectFrom('installGrant').selectAll().execute(),

    async want(tx, contracts, now) {
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
    },

    async end(tx, contract) {
      await as(tx, contract).set({ nextReadAt: null }).execute();
    },
  };
}

function as(tx: Transaction, { install, contractId, nextReadAt, metEventAt }: SweptContract) {
  return tx
    .updateTable('budget')
    .where('install', '=', install)
    .where('contractId', '=', contractId)
    .where('nextReadAt', 'is not distinct from', nextReadAt)
    .where('metEventAt', 'is not distinct from', metEventAt);
}
