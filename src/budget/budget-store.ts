import { type SqlBool, sql } from 'kysely';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { lockRows } from '../db/lease.ts';
import type { Row } from '../db/schema.ts';
import type { BudgetState } from '../domain/budget.ts';
import type { ContractKey } from '../domain/evidence.ts';

/** The only SQL of what is known of budgets: one row per contract. */
export interface BudgetStore {
  /** Reads the row and locks it until the transaction ends; adds one where there is none. */
  lock(tx: Transaction, key: ContractKey): Promise<Row<'budget'>>;
  save(tx: Transaction, row: Row<'budget'>): Promise<void>;
  /** Changes nothing where a reading was asked for or came in meanwhile. */
  postpone(due: DueBudget, failed: FailedReading): Promise<void>;
  /** Budgets of active contracts. */
  countByState(): Promise<{ install: string; state: BudgetState; count: number }[]>;
  /** How many active contracts of each install have failed to be read so often. */
  countFailing(times: number): Promise<{ install: string; count: number }[]>;
  /** The budgets of every install that has a contract of this id. */
  find(contractId: string): Promise<Row<'budget'>[]>;
}

export interface DueBudget extends ContractKey {
  dueAt: string;
  attempts: number;
}

export interface FailedReading {
  askedAt: string;
  failure: string;
  nextReadAt: string;
  /** Whether the marketplace answered that the contract does not exist. */
  isNotFound: boolean;
}

export function createBudgetStore(database: Database): BudgetStore {
  const { kysely } = database;
  return {
    async lock(tx, { install, contractId }) {
      await tx
        .insertInto('budget')
        .values({ install, contractId })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      const row = tx
        .selectFrom('budget')
        .selectAll()
        .where('install', '=', install)
        .where('contractId', '=', contractId);
      return await lockRows(database, row).executeTakeFirstOrThrow();
    },

    async save(tx, row) {
      await at(tx, row).set(row).execute();
    },

    async postpone(due, { askedAt, failure, nextReadAt, isNotFound }) {
      const notFoundAt = isNotFound ? askedAt : null;
      await inTransaction(database, (tx) =>
        at(tx, due)
          .set({ failure, nextReadAt, notFoundAt, attempts: isNotFound ? 0 : due.attempts + 1 })
          .where('nextReadAt', '=', due.dueAt)
          .where((eb) => eb.or([eb('askedAt', 'is', null), eb('askedAt', '<=', askedAt)]))
          .execute(),
      );
    },

    countByState: () =>
      kysely
        .selectFrom('budget')
        .select(['install', 'state', kysely.fn.countAll<number>().as('count')])
        .where('nextReadAt', 'is not', null)
        .where('state', 'is not', null)
        .$narrowType<{ state: BudgetState }>()
        .groupBy(['install', 'state'])
        .orderBy('install')
        .orderBy('state')
        .execute(),

    countFailing: (times) =>
      kysely
        .selectFrom('budget')
        .select(['install', kysely.fn.countAll<number>().as('count')])
        .where('nextReadAt', 'is not', null)
        // As the condition of the index has it: nearly all can be read.
        .where(sql<SqlBool>`(attempts > 0 or not_found_at is not null)`)
        .where((eb) => eb.or([eb('attempts', '>=', times), eb('notFoundAt', 'is not', null)]))
        .groupBy('install')
        .orderBy('install')
        .execute(),

    find: (contractId) =>
      kysely.selectFrom('budget').selectAll().where('contractId', '=', contractId).orderBy('install').execute(),
  };
}

function at(tx: Transaction, { install, contractId }: ContractKey) {
  return tx.updateTable('budget').where('install', '=', install).where('contractId', '=', contractId);
}
