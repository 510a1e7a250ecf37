import { statSync } from 'node:fs';

interface Sqlite {
  pragma(source: string): unknown;
}

/** So long a log cannot be moved completely between two commits, so writers must wait once. */
const longPages = 20_000;
/** The log may take this part of the free space including itself. */
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
  const pages = moveLog(sqlite, 'PASSIVE');
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
  const [result] = sqlite.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
  return result?.busy === 0;
}

/** @returns how many pages the log had */
function moveLog(sqlite: Sqlite, mode: 'PASSIVE' | 'RESTART' | 'TRUNCATE'): number {
  const [result] = sqlite.pragma(`wal_checkpoint(${mode})`) as { log: number }[];
  return result?.log ?? 0;
}
