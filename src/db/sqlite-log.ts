import { closeSync, fdatasync, openSync, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { AppError } from '../domain/errors.ts';

interface Sqlite {
  pragma(source: string): unknown;
}

/**
 * SQLite's log, which is written to the disk after a commit and not in it. A commit of `synchronous = FULL` is the same
 * two steps, but it holds the write lock while it waits for the disk.
 */
interface SyncedLog {
  /** Resolves when everything that is committed up to now survives a power cut. */
  sync(): Promise<void>;
  /**
   * After a sync that failed, moves the log into the file first: it is unknown whether the system tries to write those
   * pages again, and a repeat of what is in them must not be answered before.
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
        // The log is useless from its first missing page on, and the system reports a failure only once.
        if (isDoubtful) throw new Error('What was committed before is not on the disk');
      } catch (cause) {
        isDoubtful = true;
        throw new AppError('unavailable', 'The log of the database could not be written to the disk', { cause });
      }
    },
    mend() {
      if (!isDoubtful) return;
      if (!moveAll(sqlite)) throw new AppError('unavailable', 'The log of the database is not written to the disk yet');
      isDoubtful = false;
    },
    close() {
      if (descriptor !== undefined) closeSync(descriptor);
    },
  };
}

/** @returns false if a reader or a writer stays in the way */
function moveAll(sqlite: Sqlite): boolean {
  sqlite.pragma('busy_timeout = 5000');
  const { busy } = moveLog(sqlite, 'FULL');
  sqlite.pragma('busy_timeout = 0');
  return busy === 0;
}

/** A log this long cannot be moved completely between two commits, so writers must wait once. */
const longPages = 20_000;
/** The part of the free space, with its own, that the log may take. */
const logShare = 1 / 3;

/**
 * Moves SQLite's log into the database file. The first pass stops no writer, and usually it is enough.
 * Under load a second pass moves what came during the first, so that little is left for the last pass,
 * which starts the log anew. On a nearly full disk the last pass also frees the space of the log.
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

/** @returns how many pages the log had, and 0 as `busy` where nothing was in the way */
function moveLog(sqlite: Sqlite, mode: 'PASSIVE' | 'FULL' | 'RESTART' | 'TRUNCATE'): { log: number; busy: number } {
  const [moved] = sqlite.pragma(`wal_checkpoint(${mode})`) as { log: number; busy: number }[];
  return moved ?? { log: 0, busy: 1 };
}
