import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { WriteTurns } from '../db/write-turns.ts';
import type { Appended, NewDelivery } from '../domain/delivery.ts';
import { AppError, type ErrorCode } from '../domain/errors.ts';

export interface AppendThreadData {
  url: string;
  key: Uint8Array;
  writeTurns?: WriteTurns | undefined;
}

/** The thread sends one reply for each request. */
export type AppendRequest = { id: number; deliveries: readonly NewDelivery[] } | 'close';

export type AppendReply = { id: number } & ({ appended: Appended[] } | { code: ErrorCode; message: string });

export interface ThreadedAppend {
  /** As `appendDeliveries`. Calls may overlap. */
  append(deliveries: readonly NewDelivery[]): Promise<Appended[]>;
  close(): Promise<void>;
}

/** In a checkout the file of the thread is TypeScript, in the image JavaScript. */
const threadFile = new URL(`./append-thread${extname(import.meta.url)}`, import.meta.url);

/** After so long without a delivery the thread ends, because it takes 18 MiB. Starting it takes a tenth of a second. */
const usualQuietMs = 60_000;

/** Stores through a thread of its own, which is started when it is needed, and again if it fails. */
export function createThreadedAppend(data: AppendThreadData, quietMs = usualQuietMs): ThreadedAppend {
  let thread: Worker | undefined;
  let quiet: NodeJS.Timeout | undefined;
  let lastId = 0;
  /** By request: the function that takes its reply. */
  const settles = new Map<number, (reply: AppendReply) => void>();

  function startThread(): Worker {
    const started = new Worker(threadFile, { workerData: data });
    started.on('message', settle);
    started.on('error', (error: Error) => fail(started, `failed: ${error.message}`));
    started.on('exit', () => fail(started, 'ended'));
    return started;
  }

  function settle(reply: AppendReply): void {
    settles.get(reply.id)?.(reply);
    settles.delete(reply.id);
  }

  /** A thread that failed also ends. By then the next one may have started. */
  function fail(failed: Worker, why: string): void {
    if (thread !== failed) return;
    thread = undefined;
    const code: ErrorCode = 'unavailable';
    const message = `The thread that stores deliveries ${why}`;
    for (const id of [...settles.keys()]) settle({ id, code, message });
  }

  /** A request that has no reply yet may take long. */
  function endWhenQuiet(): void {
    clearTimeout(quiet);
    quiet = setTimeout(() => {
      if (settles.size > 0) return endWhenQuiet();
      thread?.postMessage('close');
      thread = undefined;
    }, quietMs).unref();
  }

  return {
    async append(deliveries) {
      thread ??= startThread();
      lastId += 1;
      const id = lastId;
      thread.postMessage({ id, deliveries } satisfies AppendRequest);
      const reply = await new Promise<AppendReply>((resolve) => settles.set(id, resolve));
      endWhenQuiet();
      if ('appended' in reply) return reply.appended;
      throw new AppError(reply.code, reply.message);
    },
    async close() {
      clearTimeout(quiet);
      const running = thread;
      if (running === undefined) return;
      const ended = new Promise((resolve) => running.once('exit', resolve));
      running.postMessage('close');
      await ended;
    },
  };
}
