import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { announce, withdraw } from '../db/lock-store.ts';

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
    announce: ({ id, fingerprint }, now, leasedUntil) =>
      inTransaction(database, (tx) => announce(tx, prefix, { name: id, token: fingerprint, leasedUntil }, now)),

    leave: (id) => inTransaction(database, (tx) => withdraw(tx, prefix, id)),

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
