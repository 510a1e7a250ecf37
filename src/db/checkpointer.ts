import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Logger } from '../lib/logger.ts';

/** Keeps SQLite's log short in a thread of its own. */
export interface Checkpointer {
  start(): void;
  stop(): Promise<void>;
}

const threadFile = new URL(`./checkpoint-thread${extname(import.meta.url)}`, import.meta.url);

/** A full disk or a missing folder may be a passing fault. */
const restMs = 10_000;

/**
 * @param file the file of the database; undefined if there is no log to keep short
 * @param startAgainMs how long after a failure the thread is started again
 */
export function createCheckpointer(file: string | undefined, logger: Logger, startAgainMs = restMs): Checkpointer {
  let thread: Worker | undefined;
  let waiting: NodeJS.Timeout | undefined;
  let isReported = false;

  function start(): void {
    if (file === undefined) return;
    const started = new Worker(threadFile, { workerData: file });
    thread = started;
    // Without the thread the log grows until a commit moves it. That is slower, but nothing is lost.
    started.on('error', (error) => {
      if (!isReported) logger.error({ err: error }, failed);
      isReported = true;
      thread = undefined;
      waiting = setTimeout(start, startAgainMs).unref();
    });
    started.on('message', () => {
      if (isReported) logger.info({}, 'The log of SQLite is kept short again');
      isReported = false;
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
