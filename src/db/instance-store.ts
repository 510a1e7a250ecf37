import { sql } from 'kysely';
import type { Instance } from '../domain/instance.ts';
import { type Database, inTransaction, type Transaction } from './database.ts';

// The SQL of the instances on this database. Each instance keeps a row of its own.

/** Also deletes the rows of instances whose last beat is before `forgetBefore`. */
export async function beatInstance(
  database: Database,
  instance: Omit<Instance, 'stoppedAt'>,
  forgetBefore: string,
): Promise<void> {
  const { id, beatAt } = instance;
  await inTransaction(database, async (tx) => {
    await tx
      .insertInto('instance')
      .values({ ...instance, stoppedAt: null })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ beatAt }))
      .execute();
    await tx.deleteFrom('instance').where('beatAt', '<', forgetBefore).where('id', '!=', id).execute();
  });
}

export async function stopInstance(database: Database, id: string, now: string): Promise<void> {
  await inTransaction(database, (tx) =>
    tx.updateTable('instance').set({ beatAt: now, stoppedAt: now }).where('id', '=', id).execute(),
  );
}

export async function listInstances(tx: Transaction): Promise<Instance[]> {
  return await tx.selectFrom('instance').selectAll().orderBy('beatAt', 'desc').execute();
}

/** Until the transaction ends, no instance can write its first heartbeat. SQLite locks the whole file anyway. */
export async function lockInstances(tx: Transaction, dialect: Database['dialect']): Promise<void> {
  if (dialect === 'postgres') await sql`lock table instance in exclusive mode`.execute(tx);
}
