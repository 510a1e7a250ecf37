import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Appended, NewDelivery } from '../domain/delivery.ts';
import { AppError, type ErrorCode } from '../domain/errors.ts';
import {
  type AppendReply,
  type AppendThreadData,
  packDeliveries,
} from './append-thread-protocol.ts';

export interface ThreadedAppend {
  /** As `InboxStore.append`; one call at a time. */
  append(deliveries: readonly NewDelivery[]): Promise<Appended[]>;
  close(): Promise<void>;
}

/** Sources run as they are, the image runs what was compiled: the thread's file is of the same kind. */
const threadFile = new URL(`./append-thread${extname(import.meta.url)}`, import.meta.url);

/** Stores through a thread of its own, which is started again should it ever end. */
export function createThreadedAppend(data: AppendThreadData): ThreadedAppend {
  let thread: Worker | undefined;
  let settle: ((reply: AppendReply) => void) | undefined;

  function startThread(): Worker {
    const started = new Worker(threadFile, { workerData: data });
    started.on('message', reply);
    started.on('error', (error: Error) => fail(started, `failed: ${error.message}`));
    started.on('exit', () => fail(started, 'ended'));
    return started;
  }

  function reply(message: AppendReply): void {
    settle?.(message);
    settle = undefined;
  }

  /** A thread that failed also ends, and by then the next one may be at work. */
  function fail(failed: Worker, why: string): void {
    if (thread !== failed) return;
    thread = undefined;
    const code: ErrorCode = 'unavailable';
    reply({ code, message: `The thread that stores deliveries ${why}` });
  }

  return {
    async append(deliveries) {
      thread ??= startThread();
      const packed = packDeliveries(deliveries);
      thread.postMessage(packed, [packed.bodies.buffer]);
      const answer = await new Promise<AppendReply>((resolve) => {
        settle = resolve;
      });
      if ('appended' in answer) return answer.appended;
      throw new AppError(answer.code, answer.message);
    },
    async close() {
      const running = thread;
      if (running === undefined) return;
      const ended = new Promise((resolve) => running.once('exit', resolve));
      running.postMessage('close');
      await ended;
    },
  };
}
