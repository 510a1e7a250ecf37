import { type Database, inTransaction } from './database.ts';

/**
 * Named locks that outlive a transaction but not their holder: leased, and taken over when the
 * lease has run out. The same on both databases and between processes.
 */
export interface LockStore {
  /** Takes the lock, or keeps it; false while somebody else holds it. */
  hold(name: string, token: string, now: string, leasedUntil: string): Promise<boolean>;
  release(name: string, token: string): Promise<void>;
}

export function createLockStore(database: Database): LockStore {
  return {
    async hold(name, token, now, leasedUntil) {
      const held = await inTransaction(database, (tx) =>
        tx
          .insertInto('namedLock')
          .values({ name, token, leasedUntil })
          .onConflict((conflict) =>
            conflict
              .column('name')
              .doUpdateSet({ token, leasedUntil })
              .where((eb) =>
                eb.or([eb('namedLock.token', '=', token), eb('namedLock.leasedUntil', '<=', now)]),
              ),
          )
          .returning('name')
          .executeTakeFirst(),
      );
      return held !== undefined;
    },

    async release(name, token) {
      await inTransaction(database, (tx) =>
        tx.deleteFrom('namedLock').where('name', '=', name).where('token', '=', token).execute(),
      );
    },
  };
}
