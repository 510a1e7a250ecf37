import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Logger } from '../lib/logger.ts';

/** Keeps SQLite's log short, in a thread of its own. */
export interface Checkpointer {
  start(): void;
  stop(): Promise<void>;
}

const threadFile = new URL(`./checkpoint-thread${extname(import.meta.url)}`, import.meta.url);

/** A disk that is full passes; so does a folder that is away. */
const restMs = 10_000;

/**
 * @param file of the database; undefined where there is none to keep short
 * @param startAgainMs how long after the thread has failed there is another
 */
export function createCheckpointer(file: string | undefined, logger: Logger, startAgainMs = restMs): Checkpointer {
  let thread: Worker | undefined;
  let waiting: NodeJS.Timeout | undefined;
  let isTold = false;

  function start(): void {
    if (file === undefined) return;
    const started = new Worker(threadFile, { workerData: file });
    thread = started;
    // Without it the log grows until a commit moves it: slower, and nothing is lost.
    started.on('error', (error) => {
      if (!isTold) logger.error({ err: error }, failed);
      isTold = true;
      thread = undefined;
      waiting = setTimeout(start, startAgainMs).unref();
    });
    started.on('message', () => {
      if (isTold) logger.info({}, 'The log of SQLite is kept short again');
      isTold = false;
    });
  }

  return {
    start,
    async stop() {
      clearTimeout(waiting);
      if (thread === undefined) return;
      const ended = once(thread, 'exit');
      thread.postMessage('stop');
      await ended;
    },
  };
}

const failed = 'The thread that keeps the log of SQLite short has failed, and is started again';
