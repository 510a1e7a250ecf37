import { type Database, inTransaction } from '../db/database.ts';
import { bytesOfRow, createCountStored, sumByInstall } from './storage-store.ts';

/** The SQL that deletes deliveries: always a few at a time, and never one that is due. */

/** Keeps those that have become due again. */
export async function deleteSettled(database: Database, ids: number[]): Promise<number> {
  return await inTransaction(database, async (tx) => {
    const deleted = await tx
      .deleteFrom('delivery')
      .where('id', 'in', ids)
      .where('nextAttemptAt', 'is', null)
      .returning(['install', bytesOfRow.as('bytes')])
      .execute();
    const freed = deleted.map(({ install, bytes }) => ({ install, bytes: -bytes }));
    await createCountStored(tx)(tx, sumByInstall(freed));
    return deleted.length;
  });
}

/** Deletes some of the oldest settled deliveries from before `before`. @returns how many */
export async function deleteOld(database: Database, before: string, limit: number): Promise<number> {
  // Ids grow with time, so a page with a young delivery is the last one.
  for (let lastId = 0; ; ) {
    const page = await database.kysely
      .selectFrom('delivery')
      .select(['id', 'receivedAt', 'nextAttemptAt'])
      .where('id', '>', lastId)
      .orderBy('id')
      .limit(limit)
      .execute();
    const old = page.filter((row) => row.receivedAt < before);
    const settled = old.flatMap((row) => (row.nextAttemptAt === null ? [row.id] : []));
    if (settled.length > 0) return await deleteSettled(database, settled);
    if (old.length < limit) return 0;
    lastId = page.at(-1)?.id ?? 0;
  }
}
