import { type Database, inTransaction, type Transaction } from '../db/database.ts';

/** The SQL of which running instance seals with which key. Leased, so that a dead process is forgotten. */
export interface SealerStore {
  announce(sealer: Sealer, now: string, leasedUntil: string): Promise<void>;
  leave(id: string): Promise<void>;
  /** Fingerprints of the other keys with which running instances seal. */
  listOthers(tx: Transaction, fingerprint: string, now: string): Promise<string[]>;
}

export interface Sealer {
  id: string;
  fingerprint: string;
}

const prefix = 'sealer:';

export function createSealerStore(database: Database): SealerStore {
  return {
    async announce({ id, fingerprint }, now, leasedUntil) {
      await inTransaction(database, async (tx) => {
        await tx.deleteFrom('namedLock').where('name', 'like', `${prefix}%`).where('leasedUntil', '<=', now).execute();
        await tx
          .insertInto('namedLock')
          .values({ name: prefix + id, token: fingerprint, leasedUntil })
          .onConflict((conflict) => conflict.column('name').doUpdateSet({ leasedUntil }))
          .execute();
      });
    },

    async leave(id) {
      await inTransaction(database, (tx) =>
        tx
          .deleteFrom('namedLock')
          .where('name', '=', prefix + id)
          .execute(),
      );
    },

    async listOthers(tx, fingerprint, now) {
      const rows = await tx
        .selectFrom('namedLock')
        .select('token')
        .distinct()
        .where('name', 'like', `${prefix}%`)
        .where('leasedUntil', '>', now)
        .where('token', '!=', fingerprint)
        .execute();
      return rows.map(({ token }) => token);
    },
  };
}
