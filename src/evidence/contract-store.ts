import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import { onSame } from '../db/on-same.ts';
import type { Tables } from '../db/schema.ts';
import type { BudgetState } from '../domain/budget.ts';
import type { ContractEvidence, ContractKey } from '../domain/evidence.ts';
import { type ContractStatus, shownStatusOf } from '../domain/evidence-status.ts';

/** The SQL of showing contracts to people. */
export interface ContractStore {
  /** One page, ordered by install and id. @param after the last contract of the page before */
  page(filter: PageFilter, after: ContractKey | undefined): Promise<CountedContract[]>;
  /** The contract of this id; of several installs where more than one has it. */
  find(tx: Transaction, contractId: string, install?: string): Promise<ContractEvidence[]>;
  countDisputed(): Promise<number>;
}

interface PageFilter {
  install?: string | undefined;
  /** Only those whose budget was last read to be so. */
  budget?: BudgetState | undefined;
  /** All contracts of this status, and others of the same registers: only their values decide. */
  mayBe?: ContractStatus | undefined;
  /** Only those that the last reading of their install did not list. */
  isUnlisted?: boolean;
}

/** A contract with its budget, as last read, and the number of its trainers. */
export type CountedContract = ContractEvidence & {
  budgetState: BudgetState | null;
  consumedFraction: number | null;
  people: number | null;
};

export const pageSize = 500;

type Condition = (eb: ExpressionBuilder<Tables, 'contract'>) => Expression<SqlBool>;

/** What the status of a contract follows from is stored; the status itself is not (`shownStatusOf`). */
const registersOf: Record<ContractStatus, Condition> = {
  unknown: (eb) => eb.and([eb('startedEventAt', 'is', null), eb('activeReadAt', 'is', null)]),
  active: (eb) => eb('endedReadAt', 'is', null),
  disputed: (eb) =>
    eb.and([
      eb('endedReadAt', 'is', null),
      eb.or([eb('activeReadAt', '>', eb.ref('endedEventAt')), eb('activeReadAt', '>', eb.ref('endedByOperatorAt'))]),
    ]),
  ended: (eb) =>
    eb.or([
      eb('endedReadAt', 'is not', null),
      eb('endedEventAt', 'is not', null),
      eb('endedByOperatorAt', 'is not', null),
    ]),
};

const isInNoList: Condition = (eb) =>
  eb.and([
    eb('endedReadAt', 'is', null),
    eb.exists(
      eb
        .selectFrom('installState')
        .select('installState.install')
        .whereRef('installState.install', '=', 'contract.install')
        .where((of) => of.or([of('activeReadAt', 'is', null), of('activeReadAt', '<', of.ref('readBeganAt'))])),
    ),
  ]);

export function createContractStore({ kysely }: Pick<Database, 'kysely'>): ContractStore {
  async function page(
    { install, budget, mayBe, isUnlisted = false }: PageFilter,
    after: ContractKey | undefined,
  ): Promise<CountedContract[]> {
    let rows = kysely
      .selectFrom('contract')
      .leftJoin('budget', onSame('budget', 'contract', ['install', 'contractId']))
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
    if (mayBe !== undefined) rows = rows.where(registersOf[mayBe]);
    if (isUnlisted) rows = rows.where(isInNoList);
    if (after !== undefined) {
      const key = ['contract.install', 'contract.contractId'] as const;
      rows = rows.where((eb) => eb(eb.refTuple(...key), '>', eb.tuple(after.install, after.contractId)));
    }
    return await rows.execute();
  }

  return {
    page,

    async find(tx, contractId, install) {
      let rows = tx.selectFrom('contract').selectAll().where('contractId', '=', contractId);
      if (install !== undefined) rows = rows.where('install', '=', install);
      return await rows.orderBy('install').execute();
    },

    async countDisputed() {
      const contradicted = await kysely.selectFrom('contract').selectAll().where(registersOf.disputed).execute();
      return contradicted.filter((row) => shownStatusOf(row) === 'disputed').length;
    },
  };
}
