import { sql } from 'kysely';
import { type Database, inTransaction } from './database.ts';
import { jsonRows } from './json-list.ts';

// Named locks that outlive a transaction but not their holder. They are leased, and another process
// may take one when its lease has run out. They work the same on both databases.

/** Takes or renews the lock; false while another holder has it. */
export async function holdLock(
  database: Database,
  name: string,
  token: string,
  now: string,
  leasedUntil: string,
): Promise<boolean> {
  const held = await inTransaction(database, (tx) =>
    tx
      .insertInto('namedLock')
      .values({ name, token, leasedUntil })
      .onConflict((conflict) =>
        conflict
          .column('name')
          .doUpdateSet({ token, leasedUntil })
          .where((eb) => eb.or([eb('namedLock.token', '=', token), eb('namedLock.leasedUntil', '<=', now)])),
      )
      .returning('name')
      .executeTakeFirst(),
  );
  return held !== undefined;
}

export async function releaseLock(database: Database, name: string, token: string): Promise<void> {
  await releaseLocks(database, [name], token);
}

/** The same for several locks. @returns the names of those that are held now */
export async function holdLocks(
  database: Database,
  names: readonly string[],
  token: string,
  now: string,
  leasedUntil: string,
): Promise<Set<string>> {
  // In one order, so that two holders that want the same locks cannot deadlock.
  const rows = jsonRows(
    database,
    [...new Set(names)].sort().map((name) => [name, token, leasedUntil]),
  );
  const held = await inTransaction(database, (tx) =>
    sql<{ name: string }>`insert into named_lock (name, token, leased_until)
          select value ->> 0, value ->> 1, value ->> 2 from ${rows} as given
          where true on conflict (name) do update
          set token = excluded.token, leased_until = excluded.leased_until
          where named_lock.token = ${token} or named_lock.leased_until <= ${now}
          returning name`.execute(tx),
  );
  return new Set(held.rows.map(({ name }) => name));
}

export async function releaseLocks(database: Database, names: readonly string[], token: string): Promise<void> {
  await inTransaction(database, (tx) =>
    tx.deleteFrom('namedLock').where('name', 'in', names).where('token', '=', token).execute(),
  );
}
