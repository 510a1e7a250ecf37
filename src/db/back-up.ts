import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { sql } from 'kysely';
import { AppError } from '../domain/errors.ts';
import type { Database } from './database.ts';

/**
 * Copies a SQLite database to a new file while instances write to it. One read transaction covers the copy, so it
 * includes what is still in the log, and writers do not wait for it.
 *
 * @throws AppError `conflict` if the file exists, `invalid` if it cannot be written or if the database is another
 */
export async function backUp({ dialect, kysely }: Database, file: string): Promise<void> {
  if (dialect !== 'sqlite') {
    throw new AppError(
      'invalid',
      'This database is on PostgreSQL: back it up with pg_dump --format=custom, and restore it with pg_restore',
    );
  }
  reserve(file);
  const part = `${file}.part`;
  try {
    // SQLite writes into an empty file, which keeps its mode.
    writeFileSync(part, '', { mode: 0o600 });
    await sql`vacuum into ${part}`.execute(kysely);
    const written = openSync(part, 'r+');
    fsyncSync(written);
    closeSync(written);
    renameSync(part, file);
  } catch (error) {
    for (const unfinished of [part, file]) rmSync(unfinished, { force: true });
    throw new AppError('invalid', `${file}: the backup could not be written`, { cause: error });
  }
}

/** The backup replaces no other file. */
function reserve(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    const isTaken = (error as NodeJS.ErrnoException).code === 'EEXIST';
    const reason = isTaken ? 'the file exists: name a new one' : 'the file cannot be written';
    throw new AppError(isTaken ? 'conflict' : 'invalid', `${file}: ${reason}`, { cause: error });
  }
}
