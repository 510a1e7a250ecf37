import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { z } from 'zod';
import { listMigrations, type Part, type Row, type RowCounts, readTables } from '../db/copy-database.ts';
import type { Database } from '../db/database.ts';
import { syncFolderOf } from '../db/sqlite-file.ts';
import { AppError } from '../domain/errors.ts';
import { version } from '../lib/version.ts';
import type { SecretBox } from './secret-box.ts';
import { wrongKey } from './secret-key.ts';

/**
 * A backup is a line of JSON that says what it is, and then the rows of every table: lines of JSON, compressed, in pieces
 * that are sealed with the key of the database. Each piece is bound to the first line and to its place, so a file that was
 * cut off, changed or put together from two is refused.
 */
const headerSchema = z.object({
  gangwayBackup: z.literal(1),
  version: z.string(),
  madeAt: z.string(),
  keyFingerprint: z.string(),
  migrations: z.array(z.string()),
});

export type BackupHeader = z.infer<typeof headerSchema>;

/** The length of a piece before it is sealed. Sealing adds a few bytes. */
const pieceBytes = 256 * 1024;
const longestSealedBytes = pieceBytes + 100;
const longestHeaderBytes = 64 * 1024;

/**
 * Writes a backup while instances write to the database, and reads it back.
 *
 * @returns how many rows of each table it has
 * @throws AppError `conflict` if the file exists; `invalid` if it cannot be written
 */
export async function writeBackup(
  file: string,
  { database, box, madeAt }: { database: Database; box: SecretBox; madeAt: string },
  onRows: (table: string) => void,
): Promise<RowCounts> {
  const part = `${file}.part`;
  const handle = await create(file, part);
  try {
    const migrations = await listMigrations(database);
    const header: BackupHeader = { gangwayBackup: 1, version, madeAt, keyFingerprint: box.fingerprint, migrations };
    const first = `${JSON.stringify(header)}\n`;
    await handle.write(first);
    const gzip = createGzip();
    const reading = readTables(database, async (rows) => {
      if ('table' in rows) onRows(rows.table);
      if (!gzip.write(`${JSON.stringify(rows, toJson)}\n`)) await once(gzip, 'drain');
    }).finally(() => gzip.end());
    const writing = pipeline(gzip, (chunks: AsyncIterable<Buffer>) => writePieces(handle, box, first, chunks));
    const [counts] = await Promise.all([reading, writing]);
    await handle.sync();
    await handle.close();
    await checkRows(part, box, counts);
    await rename(part, file);
    syncFolderOf(file);
    return counts;
  } catch (error) {
    await handle.close().catch(() => undefined);
    for (const unfinished of [part, file]) await rm(unfinished, { force: true });
    if (error instanceof AppError) throw error;
    throw new AppError('invalid', `${file}: the backup could not be written`, { cause: error });
  }
}

/** A backup replaces no other file. */
async function create(file: string, part: string): Promise<FileHandle> {
  try {
    await (await open(file, 'wx', 0o600)).close();
    return await open(part, 'w', 0o600);
  } catch (error) {
    const isTaken = (error as NodeJS.ErrnoException).code === 'EEXIST';
    const reason = isTaken ? 'the file exists: name a new one' : 'the file cannot be written';
    throw new AppError(isTaken ? 'conflict' : 'invalid', `${file}: ${reason}`, { cause: error });
  }
}

/** Each piece is its sealed length in 4 bytes, and the sealed bytes. */
async function writePieces(file: FileHandle, box: SecretBox, first: string, chunks: AsyncIterable<Buffer>) {
  let [rest, place] = [Buffer.alloc(0), 0];
  async function write(piece: Buffer, isLast: boolean): Promise<void> {
    const sealed = box.seal(piece, contextOf(first, place, isLast));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(sealed.length);
    await file.writev([length, sealed]);
    place += 1;
  }
  for await (const chunk of chunks) {
    rest = Buffer.concat([rest, chunk]);
    for (; rest.length > pieceBytes; rest = rest.subarray(pieceBytes)) await write(rest.subarray(0, pieceBytes), false);
  }
  await write(rest, true);
}

function contextOf(first: string, place: number, isLast: boolean): string {
  return `backup ${place} ${isLast ? 'last' : 'more'} ${first}`;
}

async function checkRows(file: string, box: SecretBox, counts: RowCounts): Promise<void> {
  const found: RowCounts = Object.fromEntries(Object.keys(counts).map((table) => [table, 0]));
  await readBackup(file, box, async (part) => {
    if ('table' in part) found[part.table] = (found[part.table] ?? 0) + part.rows.length;
  });
  if (JSON.stringify(found) !== JSON.stringify(counts)) throw new Error('It does not read back as it was written');
}

/** @throws AppError `invalid` if it is not a backup */
export async function readHeader(file: string): Promise<BackupHeader> {
  return (await withFile(file, (handle) => readFirst(file, handle))).header;
}

async function readFirst(file: string, handle: FileHandle): Promise<{ first: string; header: BackupHeader }> {
  const { buffer } = await handle.read(Buffer.alloc(longestHeaderBytes), 0, longestHeaderBytes, 0);
  const first = buffer.toString('utf8', 0, buffer.indexOf('\n') + 1);
  const header = headerSchema.safeParse(parseJson(first));
  if (header.success) return { first, header: header.data };
  throw new AppError('invalid', `${file} is not a backup of Gangway`);
}

/**
 * Gives every part to `take`, in the order in which it was written.
 *
 * @throws AppError `conflict` if it was sealed with another key; `invalid` if it is not a whole backup
 */
export async function readBackup(file: string, box: SecretBox, take: (part: Part) => Promise<void>): Promise<void> {
  await withFile(file, async (handle) => {
    const { first, header } = await readFirst(file, handle);
    if (header.keyFingerprint !== box.fingerprint) throw wrongKey(header.keyFingerprint, box.fingerprint);
    const pieces = Readable.from(readPieces(file, handle, box, first));
    await pipeline(pieces, createGunzip(), async (chunks: AsyncIterable<Buffer>) => {
      for await (const line of linesOf(chunks)) await take(JSON.parse(line, fromJson) as Part);
    });
  });
}

async function* readPieces(file: string, handle: FileHandle, box: SecretBox, first: string): AsyncGenerator<Buffer> {
  const { size } = await handle.stat();
  let [at, place] = [Buffer.byteLength(first), 0];
  while (at < size || place === 0) {
    const length = (await readExactly(file, handle, at, 4)).readUInt32BE();
    if (length > longestSealedBytes) throw damaged(file);
    const sealed = await readExactly(file, handle, at + 4, length);
    at += 4 + length;
    yield openPiece(file, box, sealed, contextOf(first, place, at === size));
    place += 1;
  }
}

function openPiece(file: string, box: SecretBox, sealed: Buffer, context: string): Buffer {
  try {
    return box.open(sealed, context);
  } catch (cause) {
    throw damaged(file, cause);
  }
}

async function readExactly(file: string, handle: FileHandle, at: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, at);
  if (bytesRead < length) throw damaged(file);
  return buffer;
}

function damaged(file: string, cause?: unknown): AppError {
  return new AppError('invalid', `${file} is damaged or was cut off: use another backup`, { cause });
}

async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let parts: Buffer[] = [];
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      yield Buffer.concat([...parts, chunk.subarray(from, end)]).toString();
      [parts, from] = [[], end + 1];
    }
    parts.push(chunk.subarray(from));
  }
}

async function withFile<T>(file: string, work: (handle: FileHandle) => Promise<T>): Promise<T> {
  const handle = await open(file).catch((cause: unknown) => {
    throw new AppError('invalid', `${file} cannot be read`, { cause });
  });
  try {
    return await work(handle);
  } finally {
    await handle.close();
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Buffers as `{"base64": "…"}`; by then `toJSON` has made them `{ type: 'Buffer', data }`. */
function toJson(this: Row, name: string, value: unknown): unknown {
  const plain = this[name];
  return Buffer.isBuffer(plain) ? { base64: plain.toString('base64') } : value;
}

function fromJson(_name: string, value: unknown): unknown {
  const isBytes = typeof value === 'object' && value !== null && 'base64' in value;
  return isBytes ? Buffer.from(String(value.base64), 'base64') : value;
}
