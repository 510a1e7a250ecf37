import type { Appended, NewDelivery } from '../domain/delivery.ts';
import { AppError, isTransient, toAppError } from '../domain/errors.ts';

/**
 * The inbox keeps every delivery that it has confirmed, also after a crash or a power cut. It stores
 * deliveries byte for byte, once each, and does not act on their meaning.
 */
export interface Inbox {
  /**
   * Resolves when the delivery is committed. The request must not be answered before.
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
/** One that is being stored, and one that is ready to follow, so that storing does not pause. */
const maxUnderway = 2;
const maxWaiting = 10_000;
/** A few at a time are no flood: each waits for the disk, and the thread is free meanwhile. */
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
  /** If more items wait, the disk is too slow, and further items are refused. */
  maxWaiting: number;
}

interface WaitingItem<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Commits together everything that arrives while the commit before is under way. A commit waits for
 * the disk, and under load many items share that wait.
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
      void commitGroup(group).then((answer) => {
        underway -= 1;
        committing -= group.length;
        // The next group starts before this one is answered, so that neither waits for the other.
        commitWaiting();
        answer();
      });
    }
  }

  /** @returns a function that settles the promises of the group */
  async function commitGroup(group: WaitingItem<Item, Result>[]): Promise<() => void> {
    try {
      const results = await commit(group.map(({ item }) => item));
      return () => answerGroup(group, results);
    } catch (error) {
      if (group.length > 1 && !isTransient(toAppError(error))) return await commitSingly(group);
      return () => {
        for (const { reject } of group) reject(error);
      };
    }
  }

  /** One bad item fails its whole group. Committed one by one, only the bad item fails. */
  async function commitSingly(group: WaitingItem<Item, Result>[]): Promise<() => void> {
    const answers: (() => void)[] = [];
    for (const one of group) answers.push(await commitGroup([one]));
    return () => {
      for (const answer of answers) answer();
    };
  }

  function answerGroup(group: WaitingItem<Item, Result>[], results: Result[]): void {
    group.forEach(({ resolve, reject }, index) => {
      const result = results[index];
      if (result === undefined) reject(new AppError('internal', 'A commit left an item out'));
      else resolve(result);
    });
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
    /** How many items are being committed, or wait for it. */
    count: () => committing + waiting.length,
  };
}
