import { AppError, isTransient, toAppError } from '../domain/errors.ts';

/**
 * Makes one commit serve everything that arrives while the one before it is under way: a commit
 * waits for the disk, and under load that wait is shared instead of repeated.
 */
export interface GroupCommit<Item, Result> {
  /** Resolves when the item is committed. */
  add(item: Item): Promise<Result>;
  /** Whether a commit is under way. */
  isBusy(): boolean;
}

interface GroupCommitOptions<Item, Result> {
  /** Commits all or none, results in the order of the items. */
  commit(items: readonly Item[]): Promise<Result[]>;
  maxGroupSize: number;
  /** How many commits may be under way at once. */
  maxUnderway: number;
  /** More than this waiting means that the disk is too far behind to promise anything. */
  maxWaiting: number;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

export function createGroupCommit<Item, Result>({
  commit,
  maxGroupSize,
  maxUnderway,
  maxWaiting,
}: GroupCommitOptions<Item, Result>): GroupCommit<Item, Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let underway = 0;

  function commitWaiting(): void {
    while (waiting.length > 0 && underway < maxUnderway) {
      const group = waiting.slice(0, maxGroupSize);
      waiting = waiting.slice(maxGroupSize);
      underway += 1;
      void commitGroup(group).then((answer) => {
        underway -= 1;
        // The next group is on its way before this one is answered: neither waits for the other.
        commitWaiting();
        answer();
      });
    }
  }

  /** @returns what tells those who wait how it ended */
  async function commitGroup(group: Waiting<Item, Result>[]): Promise<() => void> {
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

  /** One bad item fails its whole group; alone, it fails by itself. */
  async function commitSingly(group: Waiting<Item, Result>[]): Promise<() => void> {
    const answers: (() => void)[] = [];
    for (const one of group) answers.push(await commitGroup([one]));
    return () => {
      for (const answer of answers) answer();
    };
  }

  function answerGroup(group: Waiting<Item, Result>[], results: Result[]): void {
    group.forEach(({ resolve, reject }, index) => {
      const result = results[index];
      if (result === undefined) reject(new AppError('internal', 'A commit left an item out'));
      else resolve(result);
    });
  }

  return {
    add(item) {
      if (waiting.length >= maxWaiting) {
        return Promise.reject(new AppError('unavailable', 'Too many requests wait for the disk'));
      }
      return new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        commitWaiting();
      });
    },
    isBusy: () => underway > 0,
  };
}
