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

/** @param file of the database; undefined where there is none to keep short */
export function createCheckpointer(file: string | undefined, logger: Logger): Checkpointer {
  let thread: Worker | undefined;
  return {
    start() {
      if (file === undefined) return;
      thread = new Worker(threadFile, { workerData: file });
      // Without it the log grows until a commit moves it: slower, and nothing is lost.
      thread.on('error', (error) => {
        logger.error({ err: error }, 'The thread that keeps the log of SQLite short has failed');
        thread = undefined;
      });
    },
    async stop() {
      if (thread === undefined) return;
      const ended = once(thread, 'exit');
      thread.postMessage('stop');
      await ended;
    },
  };
}
