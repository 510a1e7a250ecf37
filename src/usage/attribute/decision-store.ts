import { createHash } from 'node:crypto';
import { type Database, inTransaction } from '../../db/database.ts';
import type { HeldWorkDecision } from './attribute-work.ts';

/** The only SQL of what operators decided about held work. */
export interface DecisionStore {
  /** By `workKey`. */
  list(): Promise<Map<string, HeldWorkDecision>>;
  decide(work: string, decision: HeldWorkDecision, decidedAt: string): Promise<void>;
}

export function createDecisionStore(database: Database): DecisionStore {
  return {
    async list() {
      const rows = await database.kysely.selectFrom('usageDecision').selectAll().execute();
      return new Map(
        rows.map(({ work, install, contractId }) => {
          const isNone = install === null || contractId === null;
          return [work, isNone ? null : { install, contractId }];
        }),
      );
    },

    async decide(work, decision, decidedAt) {
      const { install = null, contractId = null } = decision ?? {};
      const decided = { install, contractId, decidedAt };
      await inTransaction(
        database,
        (tx) =>
          tx
            .insertInto('usageDecision')
            .values({ work, ...decided })
            .onConflict((conflict) => conflict.column('work').doUpdateSet(decided))
            .execute(),
        { isDurable: true },
      );
    },
  };
}

/** The short id of held work. It never changes. */
export function heldIdOf(work: string): string {
  return createHash('sha256').update(work).digest('hex').slice(0, 12);
}
