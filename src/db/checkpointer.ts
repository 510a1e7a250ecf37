import { once } from 'node:events';
import { statSync } from 'node:fs';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Logger } from '../lib/logger.ts';

const threadFile = new URL(`./checkpoint-thread${extname(import.meta.url)}`, import.meta.url);

/** A full disk or a missing folder may be temporary. */
const restMs = 10_000;
const lookEveryMs = 2000;
/** A shorter log does no harm, and a thread takes 11 MB. */
const longBytes = 1024 * 1024;

/**
 * Keeps SQLite's log short, in a thread that runs while the log is long.
 *
 * @param file the database; undefined if it has no log
 * @param startAgainMs how long after a failure the thread is started again
 */
export function createCheckpointer(file: string | undefined, logger: Logger, startAgainMs = restMs) {
  let thread: Worker | undefined;
  let waiting: NodeJS.Timeout | undefined;
  let isReported = false;

  function look(): void {
    if (file === undefined) return;
    waiting = undefined;
    try {
      if (logBytes(file) >= longBytes) startThread(file);
      else lookIn(lookEveryMs);
    } catch (error) {
      fail(error);
    }
  }

  function lookIn(ms: number): void {
    waiting ??= setTimeout(look, ms).unref();
  }

  function startThread(path: string): void {
    const started = new Worker(threadFile, { workerData: path });
    thread = started;
    started.on('error', fail);
    started.on('message', () => {
      if (isReported) logger.info({}, 'The log of SQLite is kept short again');
      isReported = false;
    });
    started.on('exit', () => {
      thread = undefined;
      lookIn(lookEveryMs);
    });
  }

  /** Without the thread, the log grows until a commit moves it, which is slower but loses nothing. */
  function fail(error: unknown): void {
    if (!isReported) logger.error({ err: error }, failed);
    isReported = true;
    lookIn(startAgainMs);
  }

  return {
    start: look,
    async stop(): Promise<void> {
      const running = thread;
      if (running !== undefined) {
        const ended = once(running, 'exit');
        running.postMessage('stop');
        await ended;
      }
      clearTimeout(waiting);
    },
  };
}

/** @throws if the file of the database is missing */
function logBytes(file: string): number {
  statSync(file);
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

const failed = 'The thread that keeps the log of SQLite short has failed and will be started again';
