import { type Database, inTransaction, type Transaction } from './database.ts';

/** Does work in a transaction that is rolled back, to see what would become of it. */
export async function rollingBack<T>(database: Database, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const marker = new Error('rolled back on purpose');
  const seen: { result?: T } = {};
  try {
    await inTransaction(database, async (tx) => {
      seen.result = await work(tx);
      throw marker;
    });
  } catch (error) {
    if (error !== marker && !(error instanceof Error && error.cause === marker)) throw error;
  }
  return seen.result as T;
}
