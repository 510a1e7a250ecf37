import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { sql } from 'kysely';
import { toAppError } from '../domain/errors.ts';
import { type Database, inTransaction, type Transaction } from './database.ts';
import { readSetting, writeSetting } from './setting-store.ts';
import { sqliteFileOf } from './sqlite-database.ts';

/**
 * Notices that the database was restored from a backup, by something that a backup does not have: a file beside the
 * SQLite database, or the identity that PostgreSQL gives to its tables.
 */
export interface DatabaseMark {
  /** @param aliveAt when an instance last ran, according to the database; null if none has run */
  wasPutBack(aliveAt: string | null): Promise<boolean>;
  /** Whether the SQLite file is a copy of the one that an instance last ran on, which may run elsewhere. */
  isCopy(): Promise<boolean>;
  /** Marks the database that `wasPutBack` last looked at. */
  write(aliveAt: string): Promise<void>;
}

/** A power cut may lose the commits of this long. That is no restored backup. */
export const lostAtMostMs = 60_000;

export function createDatabaseMark(database: Database): DatabaseMark {
  const file = sqliteFileOf(database.url);
  if (file !== undefined) return createFileMark(database, file);
  return database.dialect === 'sqlite' ? noMark : createServerMark(database);
}

/** A database in memory is never restored. */
const noMark: DatabaseMark = {
  wasPutBack: async () => false,
  isCopy: async () => false,
  write: async () => undefined,
};

/** The number of a file stays the same on a volume that moves to another host. A copy has another. */
function createFileMark(database: Database, file: string): DatabaseMark {
  const mark = `${file}.alive`;
  const identifyFile = async () => `file ${(await stat(file)).ino}`;
  let written: string | undefined;
  return {
    async wasPutBack(aliveAt) {
      if (aliveAt === null) return false;
      const marked = Date.parse(await readFile(mark, 'utf8').catch(() => ''));
      return marked - Date.parse(aliveAt) > lostAtMostMs;
    },
    async isCopy() {
      const known = await readSetting(database.kysely, 'database_made_as');
      return known !== undefined && known !== (await identifyFile());
    },
    async write(aliveAt) {
      const made = await identifyFile();
      if (made !== written) await inTransaction(database, (tx) => writeSetting(tx, 'database_made_as', made));
      written = made;
      const next = `${mark}.${process.pid}`;
      await writeFile(next, aliveAt, { mode: 0o600 });
      await rename(next, mark);
    },
  };
}

/**
 * A restored dump has other table ids. A server that lost commits has another timeline, and so has a replica that took
 * over.
 */
function createServerMark(database: Database): DatabaseMark {
  let seen: string | null = null;
  let written: string | null = null;
  let isAllowed = true;
  return {
    async wasPutBack() {
      if (!isAllowed) return false;
      try {
        const { made, known } = await inTransaction(database, async (tx) => ({
          made: await identify(tx),
          known: await readSetting(tx, 'database_made_as'),
        }));
        seen = made;
        return made !== null && known !== undefined && known !== made;
      } catch (error) {
        if (toAppError(error).code === 'unavailable') throw error;
        isAllowed = false;
        return false;
      }
    },
    // After a restored dump every install is read before anything is done, so the operator need not confirm it.
    isCopy: async () => false,
    async write() {
      const made = seen;
      if (made === null || made === written) return;
      await inTransaction(database, (tx) => writeSetting(tx, 'database_made_as', made));
      written = made;
    },
  };
}

/** @returns null while the server is a replica, which accepts no writes */
async function identify(tx: Transaction): Promise<string | null> {
  const { rows } = await sql<{ made: string | null }>`select case when not pg_is_in_recovery() then concat_ws('/',
      (select system_identifier from pg_control_system()),
      substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
      (select oid from pg_database where datname = current_database()),
      to_regclass('setting')::oid) end as made`.execute(tx);
  return rows[0]?.made ?? null;
}
