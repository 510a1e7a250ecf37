import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { AppError } from '../domain/errors.ts';

interface Sqlite {
  pragma(source: string): unknown;
}

/**
 * SQLite's log, which is written to the disk after a commit and not in it. A commit of `synchronous = FULL` is the same
 * two steps, but it holds the write lock while it waits for the disk.
 */
export interface SyncedLog {
  /** Resolves when everything that is committed up to now survives a power cut. */
  sync(): Promise<void>;
  /**
   * After a sync that failed, moves the log into the file first: whether the system tries to write those pages again is
   * not known, and a repeat of what is in them must not be answered before.
   *
   * @throws AppError `unavailable` while that fails
   */
  mend(): void;
  close(): void;
}

/** Resolves when all of an open file is on the disk. */
export type SyncFile = (descriptor: number) => Promise<void>;

const syncData: SyncFile = promisify(fdatasync);

export function createSyncedLog(sqlite: Sqlite, file: string, sync = syncData): SyncedLog {
  /** The log stays the same file as long as a connection is open, as that of this thread is. */
  let descriptor: number | undefined;
  let isDoubtful = false;
  return {
    async sync() {
      try {
        descriptor ??= openSync(`${file}-wal`, 'r+');
        await sync(descriptor);
        // The log is of no use from the first page on that is missing, and a failure is reported only once.
        if (isDoubtful) throw new Error('What was committed before is not on the disk');
      } catch (cause) {
        isDoubtful = true;
        throw new AppError('unavailable', 'The log of the database could not be written to the disk', { cause });
      }
    },
    mend() {
      if (!isDoubtful) return;
      const moved = moveAll(sqlite);
      if (!moved) throw new AppError('unavailable', 'The log of the database is not written to the disk yet');
      isDoubtful = false;
    },
    close() {
      if (descriptor !== undefined) closeSync(descriptor);
    },
  };
}

/** @returns false where a reader or a writer stays in the way */
function moveAll(sqlite: Sqlite): boolean {
  sqlite.pragma('busy_timeout = 5000');
  const [moved] = sqlite.pragma('wal_checkpoint(FULL)') as { busy: number }[];
  sqlite.pragma('busy_timeout = 0');
  return moved?.busy === 0;
}
