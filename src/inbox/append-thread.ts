import { parentPort, workerData } from 'node:worker_threads';
import { openDatabase } from '../db/database.ts';
import { toAppError } from '../domain/errors.ts';
import { createSecretBox } from '../lib/secret-box.ts';
import {
  type AppendReply,
  type AppendRequest,
  type AppendThreadData,
  type PackedDeliveries,
  unpackDeliveries,
} from './append-thread-protocol.ts';
import { createInboxStore } from './inbox-store.ts';

/**
 * The thread that stores deliveries in SQLite. SQLite works and waits for the disk in the thread
 * that calls it; here, that is not the thread that answers requests.
 */
const { url, key } = workerData as AppendThreadData;
const database = openDatabase(url, { ownsThread: true });
const store = createInboxStore(database, createSecretBox(key));

parentPort?.on('message', (request: AppendRequest) => {
  if (request === 'close') void close();
  else void append(request).then((reply) => parentPort?.postMessage(reply));
});

async function append(packed: PackedDeliveries): Promise<AppendReply> {
  try {
    return { appended: await store.append(unpackDeliveries(packed)) };
  } catch (error) {
    const { code, message } = toAppError(error);
    return { code, message };
  }
}

async function close(): Promise<void> {
  await database.close();
  parentPort?.close();
}
