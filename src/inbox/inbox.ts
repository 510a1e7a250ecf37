import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { WriteTurns } from '../db/write-turns.ts';
import type { Appended, NewDelivery } from '../domain/delivery.ts';
import { AppError, type ErrorCode, isTransient, toAppError } from '../domain/errors.ts';

/**
 * The inbox keeps every delivery that it has confirmed, even after a crash or a power cut. It stores deliveries byte
 * for byte, once each, and does not act on their meaning.
 */
export interface Inbox {
  /**
   * Resolves when the delivery is committed. Do not answer the request before that.
   *
   * @throws AppError `unavailable` if it cannot be stored now
   */
  append(delivery: NewDelivery): Promise<Appended>;
  /** Whether many deliveries are being stored right now. */
  isBusy(): boolean;
}

interface InboxOptions {
  append(deliveries: readonly NewDelivery[]): Promise<Appended[]>;
  /** Called after each commit. */
  onAppended(): void;
}

const maxGroupSize = 256;
/** One commit runs and one is ready to follow, so that storing does not pause. */
const maxUnderway = 2;
const maxWaiting = 10_000;
/** Fewer at a time wait mostly for the disk, and leave the thread free. */
const busyFrom = 16;

export function createInbox({ append, onAppended }: InboxOptions): Inbox {
  const group = createGroupCommit<NewDelivery, Appended>({
    async commit(deliveries) {
      const appended = await append(deliveries);
      onAppended();
      return appended;
    },
    maxGroupSize,
    maxUnderway,
    maxWaiting,
  });
  return { append: (delivery) => group.add(delivery), isBusy: () => group.count() >= busyFrom };
}

interface GroupCommitOptions<Item, Result> {
  /** Commits all or none. The results are in the order of the items. */
  commit(items: readonly Item[]): Promise<Result[]>;
  maxGroupSize: number;
  /** How many commits may be under way at the same time. */
  maxUnderway: number;
  /** Further items are refused, because the disk is too slow. */
  maxWaiting: number;
}

interface WaitingItem<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Commits together all items that arrive while an earlier commit is under way. A commit waits for the disk, and under
 * load many items share that wait.
 */
export function createGroupCommit<Item, Result>({
  commit,
  maxGroupSize,
  maxUnderway,
  maxWaiting,
}: GroupCommitOptions<Item, Result>) {
  let waiting: WaitingItem<Item, Result>[] = [];
  let underway = 0;
  let committing = 0;

  function commitWaiting(): void {
    while (waiting.length > 0 && underway < maxUnderway) {
      const group = waiting.slice(0, maxGroupSize);
      waiting = waiting.slice(maxGroupSize);
      underway += 1;
      committing += group.length;
      void commitGroup(group).then((answers) => {
        underway -= 1;
        committing -= group.length;
        // The next group starts before this one is answered, so that neither waits for the other.
        commitWaiting();
        for (const answer of answers) answer();
      });
    }
  }

  /** @returns functions that settle the promises of the group */
  async function commitGroup(group: WaitingItem<Item, Result>[]): Promise<(() => void)[]> {
    try {
      const results = await commit(group.map(({ item }) => item));
      return group.map((one, index) => () => answer(one, results[index]));
    } catch (error) {
      if (group.length > 1 && !isTransient(toAppError(error))) return await commitSingly(group);
      return group.map(
        ({ reject }) =>
          () =>
            reject(error),
      );
    }
  }

  /** One bad item fails its whole group. Committed one by one, only the bad item fails. */
  async function commitSingly(group: WaitingItem<Item, Result>[]): Promise<(() => void)[]> {
    const answers: (() => void)[] = [];
    for (const one of group) answers.push(...(await commitGroup([one])));
    return answers;
  }

  function answer({ resolve, reject }: WaitingItem<Item, Result>, result: Result | undefined): void {
    if (result === undefined) reject(new AppError('internal', 'A commit left an item out'));
    else resolve(result);
  }

  return {
    /** Resolves when the item is committed. */
    add(item: Item): Promise<Result> {
      if (waiting.length >= maxWaiting) {
        return Promise.reject(new AppError('unavailable', 'Too many requests wait for the disk'));
      }
      return new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        commitWaiting();
      });
    },
    /** How many items wait or are being committed. */
    count: () => committing + waiting.length,
  };
}

export interface AppendThreadData {
  url: string;
  key: Uint8Array;
  writeTurns?: WriteTurns | undefined;
}

/** The thread sends one reply for each request. */
export type AppendRequest = { id: number; deliveries: readonly NewDelivery[] } | 'close';

export type AppendReply = { id: number } & ({ appended: Appended[] } | { code: ErrorCode; message: string });

export interface ThreadedAppend {
  /** Like `appendDeliveries`. Calls may overlap. */
  append(deliveries: readonly NewDelivery[]): Promise<Appended[]>;
  close(): Promise<void>;
}

/** TypeScript in a checkout, JavaScript in the image. */
const threadFile = new URL(`./append-thread${extname(import.meta.url)}`, import.meta.url);

/**
 * Without deliveries the thread ends after this time, because it takes 18 MiB. Starting it takes a tenth of a second.
 */
const usualQuietMs = 60_000;

/** Stores deliveries in a thread of its own, which is started when needed and restarted after a failure. */
export function createThreadedAppend(data: AppendThreadData, quietMs = usualQuietMs): ThreadedAppend {
  let thread: Worker | undefined;
  let quiet: NodeJS.Timeout | undefined;
  let lastId = 0;
  /** By the id of a request: the function that takes its reply. */
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

  /** A thread that failed also exits, and by then the next one may have started. */
  function fail(failed: Worker, why: string): void {
    if (thread !== failed) return;
    thread = undefined;
    const code: ErrorCode = 'unavailable';
    const message = `The thread that stores deliveries ${why}`;
    for (const id of [...settles.keys()]) settle({ id, code, message });
  }

  /** Waits on while a request has no reply, because it may take long. */
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
