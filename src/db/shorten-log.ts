import { statSync } from 'node:fs';

interface Sqlite {
  pragma(source: string): unknown;
}

/** So long a log is not going to be moved whole between two commits: writers must wait once. */
const longPages = 20_000;
/** The log may have this part of what it and the disk have left. */
const logShare = 1 / 3;

/**
 * Moves SQLite's log into the database. The first pass holds nobody up, and mostly it is enough.
 * Under load the second has only what came in during the first, and so little is left for the last,
 * which lets the log begin anew; on a disk that is nearly full it also gives back what it took.
 *
 * @param freeBytes what the disk has left
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

/** @returns whether nobody was reading or writing, and it is empty */
export function emptyLog(sqlite: Sqlite): boolean {
  const [result] = sqlite.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
  return result?.busy === 0;
}

/** @returns how many pages the log had */
function moveLog(sqlite: Sqlite, mode: 'PASSIVE' | 'RESTART' | 'TRUNCATE'): number {
  const [result] = sqlite.pragma(`wal_checkpoint(${mode})`) as { log: number }[];
  return result?.log ?? 0;
}
