import { parentPort, workerData } from 'node:worker_threads';
import { openDatabase } from '../db/open-database.ts';
import type { NewDelivery } from '../domain/delivery.ts';
import { toAppError } from '../domain/errors.ts';
import { createSecretBox } from '../keys/secret-box.ts';
import { appendDeliveries } from './append-store.ts';
import type { AppendReply, AppendRequest, AppendThreadData } from './inbox.ts';

/**
 * The thread that stores deliveries in SQLite, which blocks its thread during a write: requests must not wait for that.
 */
const { url, key, writeTurns } = workerData as AppendThreadData;
const database = openDatabase(url, { ownsThread: true, ...(writeTurns && { writeTurns }) });
const storage = { database, box: createSecretBox(key) };

/** While one commit waits for the disk, the next one is prepared. */
const underway = new Set<Promise<void>>();

parentPort?.on('message', (request: AppendRequest) => {
  if (request === 'close') return void Promise.all(underway).then(close);
  const serving = serve(request).finally(() => underway.delete(serving));
  underway.add(serving);
});

async function serve({ id, deliveries }: Exclude<AppendRequest, 'close'>): Promise<void> {
  parentPort?.postMessage(await append(id, deliveries));
}

async function append(id: number, deliveries: readonly NewDelivery[]): Promise<AppendReply> {
  try {
    return { id, appended: await appendDeliveries(storage, deliveries) };
  } catch (error) {
    const { code, message } = toAppError(error);
    return { id, code, message };
  }
}

async function close(): Promise<void> {
  await database.close();
  parentPort?.close();
}
