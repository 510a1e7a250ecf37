import { randomUUID } from 'node:crypto';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { readSetting, writeSetting } from '../db/setting-store.ts';

/** Changes with every change of stored installs, so that every instance notices it. */
export async function readRevision(tx: Transaction): Promise<string> {
  return (await readSetting(tx, 'installs_revision')) ?? '';
}

export async function changeRevision(tx: Transaction): Promise<void> {
  await writeSetting(tx, 'installs_revision', randomUUID());
}

/** Changes stored installs. Durable when it resolves. */
export async function changeInstalls(database: Database, change: (tx: Transaction) => Promise<unknown>): Promise<void> {
  const work = async (tx: Transaction) => {
    await change(tx);
    await changeRevision(tx);
  };
  await inTransaction(database, work, { isDurable: true });
}
