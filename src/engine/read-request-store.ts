import { type Database, inTransaction, type Transaction } from '../db/database.ts';

/** The only SQL about what is still to be asked of the marketplace: one row per contract. */
export interface ReadRequestStore {
  request(tx: Transaction, wanted: ReadTarget[], now: string): Promise<void>;
  hasDue(now: string): Promise<boolean>;
  /**
   * Leases what is due of one install, so that its contracts are read together. Contracts that have
   * ended since need no asking any more.
   */
  claim(now: string, leasedUntil: string, limit: number): Promise<ReadRequest[]>;
  /** Removes a request, unless it was made again while it was being answered. */
  settle(tx: Transaction, request: ReadRequest): Promise<void>;
  postpone(request: ReadRequest, nextAttemptAt: string): Promise<void>;
}

export interface ReadTarget {
  install: string;
  contractId: string;
}

export interface ReadRequest extends ReadTarget {
  wantedAt: string;
  attempts: number;
}

export function createReadRequestStore(database: Database): ReadRequestStore {
  return {
    async request(tx, wanted, now) {
      if (wanted.length === 0) return;
      const again = { wantedAt: now, attempts: 0, nextAttemptAt: now, leasedUntil: null };
      await tx
        .insertInto('readRequest')
        .values(wanted.map((target) => ({ ...target, ...again })))
        .onConflict((conflict) => conflict.columns(['install', 'contractId']).doUpdateSet(again))
        .execute();
    },

    async hasDue(now) {
      const due = database.kysely
        .selectFrom('readRequest')
        .select('contractId')
        .where('nextAttemptAt', '<=', now)
        .where((eb) => eb.or([eb('leasedUntil', 'is', null), eb('leasedUntil', '<=', now)]));
      return (await due.limit(1).executeTakeFirst()) !== undefined;
    },

    async claim(now, leasedUntil, limit) {
      return await inTransaction(database, async (tx) => {
        await dropEnded(tx, now);
        let due = tx
          .selectFrom('readRequest')
          .select(['install', 'contractId', 'wantedAt', 'attempts'])
          .where('nextAttemptAt', '<=', now)
          .where((eb) => eb.or([eb('leasedUntil', 'is', null), eb('leasedUntil', '<=', now)]))
          .orderBy('nextAttemptAt')
          .limit(limit);
        if (database.dialect === 'postgres') due = due.forUpdate().skipLocked();
        const rows = await due.execute();
        const ofOneInstall = rows.filter((row) => row.install === rows[0]?.install);
        for (const { install, contractId } of ofOneInstall) {
          await tx
            .updateTable('readRequest')
            .set({ leasedUntil })
            .where('install', '=', install)
            .where('contractId', '=', contractId)
            .execute();
        }
        return ofOneInstall;
      });
    },

    async settle(tx, { install, contractId, wantedAt }) {
      await tx
        .deleteFrom('readRequest')
        .where('install', '=', install)
        .where('contractId', '=', contractId)
        .where('wantedAt', '=', wantedAt)
        .execute();
    },

    async postpone({ install, contractId, attempts }, nextAttemptAt) {
      await inTransaction(database, (tx) =>
        tx
          .updateTable('readRequest')
          .set({ attempts: attempts + 1, nextAttemptAt, leasedUntil: null })
          .where('install', '=', install)
          .where('contractId', '=', contractId)
          .execute(),
      );
    },
  };
}

async function dropEnded(tx: Transaction, now: string): Promise<void> {
  await tx
    .deleteFrom('readRequest')
    .where('nextAttemptAt', '<=', now)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('contract')
          .select('contract.contractId')
          .whereRef('contract.install', '=', 'readRequest.install')
          .whereRef('contract.contractId', '=', 'readRequest.contractId')
          .where((of) =>
            of.or([of('endedEventAt', 'is not', null), of('endedReadAt', 'is not', null)]),
          ),
      ),
    )
    .execute();
}
