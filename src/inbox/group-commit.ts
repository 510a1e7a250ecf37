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
  maxWaiting,
}: GroupCommitOptions<Item, Result>): GroupCommit<Item, Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let isCommitting = false;

  async function commitAll(): Promise<void> {
    isCommitting = true;
    while (waiting.length > 0) {
      const group = waiting.slice(0, maxGroupSize);
      waiting = waiting.slice(maxGroupSize);
      await commitGroup(group);
    }
    isCommitting = false;
  }

  async function commitGroup(group: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await commit(group.map(({ item }) => item));
      group.forEach(({ resolve, reject }, index) => {
        const result = results[index];
        if (result === undefined) reject(new AppError('internal', 'A commit left an item out'));
        else resolve(result);
      });
    } catch (error) {
      await settleFailed(group, error);
    }
  }

  /** One bad item fails its whole group; alone, it fails by itself. */
  async function settleFailed(group: Waiting<Item, Result>[], error: unknown): Promise<void> {
    if (group.length === 1 || isTransient(toAppError(error))) {
      for (const { reject } of group) reject(error);
      return;
    }
    for (const one of group) await commitGroup([one]);
  }

  return {
    add(item) {
      if (waiting.length >= maxWaiting) {
        return Promise.reject(new AppError('unavailable', 'Too many requests wait for the disk'));
      }
      return new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        if (!isCommitting) void commitAll();
      });
    },
    isBusy: () => isCommitting,
  };
}
