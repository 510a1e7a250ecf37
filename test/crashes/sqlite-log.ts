import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import SqliteDatabase from 'better-sqlite3';

/** SQLite's log, read as its file format says and not by SQLite: what a power cut may leave of it. */
export interface SqliteLog {
  bytes: Buffer;
  /** After how many frames a transaction was whole, in order. Before the first of them all was in the database file. */
  commits: number[];
  /** The byte at which the frame after so many begins. */
  offsetOf(frames: number): number;
  /** The last of `commits` that is whole where all before this byte is. */
  wholeBefore(offset: number): number;
}

const headerBytes = 32;
const frameHeaderBytes = 24;
/** In the index of the log: how many frames may have been moved into the database file, so that no power cut loses them. */
const movedAt = 128;

/** @returns null where nothing is in the log that a power cut could lose */
export function readSqliteLog(file: string): SqliteLog | null {
  if (!existsSync(`${file}-wal`)) return null;
  const bytes = readFileSync(`${file}-wal`);
  if (bytes.length < headerBytes) return null;
  const frameBytes = frameHeaderBytes + bytes.readUInt32BE(8);
  const salts = bytes.subarray(16, 24);
  const offsetOf = (frames: number) => headerBytes + frames * frameBytes;
  const moved = readFileSync(`${file}-shm`).readUInt32LE(movedAt);
  const commits: number[] = [moved];
  for (let frame = moved; offsetOf(frame + 1) <= bytes.length; frame += 1) {
    const header = bytes.subarray(offsetOf(frame), offsetOf(frame) + frameHeaderBytes);
    // Frames of the log before it was begun anew.
    if (!header.subarray(8, 16).equals(salts)) break;
    if (header.readUInt32BE(4) > 0) commits.push(frame + 1);
  }
  const wholeBefore = (offset: number) => commits.findLast((frames) => offsetOf(frames) <= offset) ?? moved;
  return commits.length < 2 ? null : { bytes, commits, offsetOf, wholeBefore };
}

/**
 * @param log what is left of it
 * @returns the copy
 */
export function writeWithLog(from: string, to: string, log: Buffer): string {
  copyFileSync(from, to);
  writeFileSync(`${to}-wal`, log);
  return to;
}

/** What SQLite finds in a copy that nothing else has open. The folder of the copy is gone after that. */
export function examine(file: string) {
  const database = new SqliteDatabase(file);
  try {
    const list = (query: string) => database.prepare(query).pluck().all();
    const [checkpoint] = database.pragma('wal_checkpoint(PASSIVE)') as { log: number }[];
    return {
      /** How many frames of the log it takes as whole. */
      frames: checkpoint?.log,
      faults: [
        ...list('select * from pragma_integrity_check').filter((said) => said !== 'ok'),
        ...list('select "table" from pragma_foreign_key_check'),
      ],
      deliveries: list('select id from delivery order by id'),
      intents: list('select id from intent order by id'),
    };
  } finally {
    database.close();
    rmSync(path.dirname(file), { recursive: true });
  }
}
