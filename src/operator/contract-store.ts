import type { Database, Transaction } from '../db/database.ts';
import type { BudgetState } from '../domain/budget.ts';
import type { ContractEvidence } from '../domain/evidence.ts';
import { type ContractStatus, statusOfContract } from '../domain/evidence-status.ts';
import { createSuspectStore } from '../reconcile/runs/suspect-store.ts';

/** The SQL of `gangway contracts`. */
export interface ContractStore {
  list(filter: ContractListFilter): Promise<ListedContract[]>;
  /** The contract of this id; of several installs where more than one has it. */
  find(tx: Transaction, contractId: string, install?: string): Promise<ContractEvidence[]>;
  countDisputed(): Promise<number>;
}

export interface ContractListFilter {
  install?: string | undefined;
  status?: ContractStatus | undefined;
  /** Only contracts that the last reading found in no list. */
  suspects?: boolean | undefined;
  /** Only contracts whose budget was last read to be in this state. */
  budget?: BudgetState | undefined;
  limit: number;
}

export interface ListedContract {
  install: string;
  contractId: string;
  status: ContractStatus;
  title: string | null;
  /** The latest that any source said of it. */
  heardAt: string | null;
  people: number;
  /** As it was last read; null before the first reading. */
  budgetState: BudgetState | null;
  /** Of the funded volume. */
  consumedFraction: number | null;
  /** Since when it was found in no list; null where the last reading found it. */
  suspectSince: string | null;
}

type CountedContract = ContractEvidence &
  Pick<ListedContract, 'budgetState' | 'consumedFraction'> & { people: number | null };

const pageSize = 500;

export function createContractStore(database: Database): ContractStore {
  const { kysely } = database;

  async function page(
    { install, budget }: ContractListFilter,
    after: CountedContract | undefined,
  ): Promise<CountedContract[]> {
    let rows = kysely
      .selectFrom('contract')
      .leftJoin('budget', (join) =>
        join.onRef('budget.install', '=', 'contract.install').onRef('budget.contractId', '=', 'contract.contractId'),
      )
      .selectAll('contract')
      .select(['budget.state as budgetState', 'consumedFraction'])
      .select((eb) =>
        eb
          .selectFrom('participation')
          .select((of) => of.fn.countAll<number>().as('n'))
          .whereRef('participation.install', '=', 'contract.install')
          .whereRef('participation.contractId', '=', 'contract.contractId')
          .as('people'),
      )
      .orderBy('contract.install')
      .orderBy('contract.contractId')
      .limit(pageSize);
    if (install !== undefined) rows = rows.where('contract.install', '=', install);
    if (budget !== undefined) rows = rows.where('budget.state', '=', budget);
    if (after !== undefined) {
      const key = ['contract.install', 'contract.contractId'] as const;
      rows = rows.where((eb) => eb(eb.refTuple(...key), '>', eb.tuple(after.install, after.contractId)));
    }
    return await rows.execute();
  }

  return {
    async list(filter) {
      const { install, status, suspects = false, limit } = filter;
      const since = new Map((await createSuspectStore(database).list(install)).map((one) => [keyOf(one), one.since]));
      const isAskedFor = (one: ListedContract) =>
        (status === undefined || one.status === status) && (!suspects || one.suspectSince !== null);
      const listed: ListedContract[] = [];
      // The status follows from the registers and is stored in no column.
      for (let rows = await page(filter, undefined); ; rows = await page(filter, rows.at(-1))) {
        const found = rows.map((row) => toListed(row, since.get(keyOf(row)) ?? null));
        listed.push(...found.filter(isAskedFor));
        if (rows.length < pageSize || listed.length >= limit) return listed.slice(0, limit);
      }
    },

    async find(tx, contractId, install) {
      let rows = tx.selectFrom('contract').selectAll().where('contractId', '=', contractId);
      if (install !== undefined) rows = rows.where('install', '=', install);
      return await rows.orderBy('install').execute();
    },

    async countDisputed() {
      const contradicted = await kysely
        .selectFrom('contract')
        .selectAll()
        .where('endedReadAt', 'is', null)
        .whereRef('activeReadAt', '>', 'endedEventAt')
        .execute();
      return contradicted.filter((row) => statusOfContract(row) === 'disputed').length;
    },
  };
}

function keyOf({ install, contractId }: { install: string; contractId: string }): string {
  return JSON.stringify([install, contractId]);
}

function toListed(row: CountedContract, suspectSince: string | null): ListedContract {
  const { install, contractId, title, budgetState, consumedFraction } = row;
  const heard = [row.startedEventAt, row.endedEventAt, row.activeReadAt, row.endedReadAt];
  return {
    install,
    contractId,
    title,
    suspectSince,
    budgetState,
    consumedFraction,
    status: statusOfContract(row),
    heardAt: heard.reduce((a, b) => ((b ?? '') > (a ?? '') ? b : a), null),
    people: row.people ?? 0,
  };
}
