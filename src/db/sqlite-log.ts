import { closeSync, fdatasync, openSync, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { AppError } from '../domain/errors.ts';

interface Sqlite {
  pragma(source: string): unknown;
}

/** Resolves when an open file is on the disk. */
export type SyncFile = (descriptor: number) => Promise<void>;

const syncData: SyncFile = promisify(fdatasync);

/**
 * Writes SQLite's log to the disk after a commit. A commit with `synchronous = FULL` does the same, but holds the write lock
 * and the thread while it waits for the disk: with it, `bench:converge --tool http` hired 115 people a second instead of 160.
 */
export function createSyncedLog(sqlite: Sqlite, file: string, sync = syncData) {
  /** The log stays the same file while this thread has its connection open. */
  let descriptor: number | undefined;
  let isDoubtful = false;
  return {
    /** Resolves when everything that is committed now survives a power cut. */
    async sync(): Promise<void> {
      try {
        descriptor ??= openSync(`${file}-wal`, 'r+');
        await sync(descriptor);
        // The log is useless from its first missing page on, and the system reports a failure only once.
        if (isDoubtful) throw new Error('An earlier commit is not on the disk');
      } catch (cause) {
        isDoubtful = true;
        throw new AppError('unavailable', 'The log of the database could not be written to the disk', { cause });
      }
    },
    /**
     * After a failed sync, moves the log into the file. Nobody knows whether the system writes those pages again, and a
     * repeat of what is in them must not be answered before they are on the disk.
     *
     * @throws AppError `unavailable` while that fails
     */
    mend(): void {
      if (!isDoubtful) return;
      if (!moveAll(sqlite)) throw new AppError('unavailable', 'The log of the database is not written to the disk yet');
      isDoubtful = false;
    },
    close(): void {
      if (descriptor !== undefined) closeSync(descriptor);
    },
  };
}

/** @returns false if a reader or a writer is in the way for too long */
function moveAll(sqlite: Sqlite): boolean {
  sqlite.pragma('busy_timeout = 5000');
  const { busy } = moveLog(sqlite, 'FULL');
  sqlite.pragma('busy_timeout = 0');
  return busy === 0;
}

/** A log of this length cannot be moved completely between two commits, so writers wait once. */
const longPages = 20_000;
/** The share of the free space, with its own, that the log may take. */
const logShare = 1 / 3;

/**
 * Moves SQLite's log into the database file. The first pass stops no writer and is usually enough. Under load, a second pass
 * moves what was written meanwhile, so that little is left for the last pass, which starts the log anew. On a nearly full
 * disk, the last pass also frees the space of the log.
 *
 * @param freeBytes the free space of the disk
 * @returns how many pages the log had
 */
export function shortenLog(sqlite: Sqlite, file: string, freeBytes: number): number {
  const { log: pages } = moveLog(sqlite, 'PASSIVE');
  const logBytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (logBytes > (logBytes + freeBytes) * logShare) {
    moveLog(sqlite, 'PASSIVE');
    moveLog(sqlite, 'TRUNCATE');
  } else if (pages >= longPages) {
    moveLog(sqlite, 'PASSIVE');
    moveLog(sqlite, 'RESTART');
  }
  return pages;
}

/** @returns false if a reader or a writer was in the way */
export function emptyLog(sqlite: Sqlite): boolean {
  return moveLog(sqlite, 'TRUNCATE').busy === 0;
}

/** @returns how many pages the log had, and whether something was in the way (1) or not (0) */
function moveLog(sqlite: Sqlite, mode: 'PASSIVE' | 'FULL' | 'RESTART' | 'TRUNCATE'): { log: number; busy: number } {
  const [moved] = sqlite.pragma(`wal_checkpoint(${mode})`) as { log: number; busy: number }[];
  return moved ?? { log: 0, busy: 1 };
}
