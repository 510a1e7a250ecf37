import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { openDatabase } from '../db/open-database.ts';
import { toAppError } from '../domain/errors.ts';
import { createSecretBox } from '../keys/secret-box.ts';
import { appendDeliveries } from './inbox-store.ts';
import type { AppendReply, AppendRequest, AppendThreadData } from './threaded-append.ts';

/**
 * The thread that stores deliveries in SQLite. SQLite blocks the thread that calls it while it waits
 * for the disk, so that must not be the thread that answers requests. All requests that came before a
 * commit ends share the next commit.
 */
const { url, key, writeTurns } = workerData as AppendThreadData;
const database = openDatabase(url, { ownsThread: true, ...(writeTurns && { writeTurns }) });
const storage = { database, box: createSecretBox(key) };

type Append = Exclude<AppendRequest, 'close'>;

/** While one commit waits for the disk, the next is made. */
const underway = new Set<Promise<void>>();

parentPort?.on('message', (first: AppendRequest) => {
  const requests = [first, ...receiveWaiting()];
  const serving = serve(requests.filter((request) => request !== 'close')).finally(() => underway.delete(serving));
  underway.add(serving);
  if (requests.includes('close')) void Promise.all(underway).then(close);
});

function* receiveWaiting(): Generator<AppendRequest> {
  for (;;) {
    const received = parentPort && receiveMessageOnPort(parentPort);
    if (!received) return;
    yield received.message as AppendRequest;
  }
}

/** Stores all together, or each by itself if one of them makes the others fail. */
async function serve(requests: Append[]): Promise<void> {
  if (requests.length === 0) return;
  try {
    for (const reply of await append(requests)) parentPort?.postMessage(reply);
  } catch (error) {
    const [only, ...others] = requests;
    if (only !== undefined && others.length === 0) parentPort?.postMessage(toReply(only, error));
    else for (const request of requests) await serve([request]);
  }
}

async function append(requests: Append[]): Promise<AppendReply[]> {
  const appended = await appendDeliveries(
    storage,
    requests.flatMap(({ deliveries }) => deliveries),
  );
  let end = 0;
  return requests.map(({ id, deliveries }) => {
    const begin = end;
    end += deliveries.length;
    return { id, appended: appended.slice(begin, end) };
  });
}

function toReply({ id }: Append, error: unknown): AppendReply {
  const { code, message } = toAppError(error);
  return { id, code, message };
}

async function close(): Promise<void> {
  await database.close();
  parentPort?.close();
}
