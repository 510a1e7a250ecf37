import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import SqliteDatabase from 'better-sqlite3';

/** SQLite's write-ahead log, parsed by its file format instead of by SQLite. */
export interface SqliteLog {
  bytes: Buffer;
  /** The numbers of frames after which a transaction was complete, in order. Everything before the first is in the database file. */
  commits: number[];
  /** The offset of the byte after so many frames. */
  offsetOf(frames: number): number;
  /** The last of `commits` that is complete if only the bytes before this offset are intact. */
  wholeBefore(offset: number): number;
}

const headerBytes = 32;
const frameHeaderBytes = 24;
/** The offset, in the index of the log, of the number of frames that were moved into the database file. */
const movedAt = 128;

/** @returns null if the log has nothing that a power cut could lose */
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
    // The rest are old frames, from before the log was restarted.
    if (!header.subarray(8, 16).equals(salts)) break;
    if (header.readUInt32BE(4) > 0) commits.push(frame + 1);
  }
  const wholeBefore = (offset: number) => commits.findLast((frames) => offsetOf(frames) <= offset) ?? moved;
  return commits.length < 2 ? null : { bytes, commits, offsetOf, wholeBefore };
}

/**
 * @param log the remaining bytes of the log
 * @returns the copy
 */
export function writeWithLog(from: string, to: string, log: Buffer): string {
  copyFileSync(from, to);
  writeFileSync(`${to}-wal`, log);
  return to;
}

/** What SQLite finds in a copy that nothing else has open. Deletes the folder of the copy. */
export function examine(file: string) {
  const database = new SqliteDatabase(file);
  try {
    const list = (query: string) => database.prepare(query).pluck().all();
    const [checkpoint] = database.pragma('wal_checkpoint(PASSIVE)') as { log: number }[];
    return {
      /** How many frames of the log it accepts. */
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
