import { readFile, rename, writeFile } from 'node:fs/promises';
import { sql } from 'kysely';
import { type Database, inTransaction } from './database.ts';
import { readSetting, writeSetting } from './setting-store.ts';
import { sqliteFileOf } from './sqlite-database.ts';

/**
 * Notices that the database was restored from a backup, with something that is not in its tables: a
 * file beside a SQLite database, or the identity that PostgreSQL gave to the tables.
 */
export interface DatabaseMark {
  /** @param aliveAt when an instance last ran, as the database says */
  wasPutBack(aliveAt: string): Promise<boolean>;
  write(aliveAt: string): Promise<void>;
}

/** A power cut may lose the last commits, and that is not a restored backup. */
export const lostAtMostMs = 60_000;

export function createDatabaseMark(database: Database): DatabaseMark {
  const file = sqliteFileOf(database.url);
  if (file !== undefined) return createFileMark(`${file}.alive`);
  return database.dialect === 'sqlite' ? noMark : createServerMark(database);
}

/** A database in memory is never restored. */
const noMark: DatabaseMark = { wasPutBack: async () => false, write: async () => undefined };

function createFileMark(file: string): DatabaseMark {
  return {
    async wasPutBack(aliveAt) {
      const marked = Date.parse(await readFile(file, 'utf8').catch(() => ''));
      return marked - Date.parse(aliveAt) > lostAtMostMs;
    },
    async write(aliveAt) {
      const next = `${file}.${process.pid}`;
      await writeFile(next, aliveAt, { mode: 0o600 });
      await rename(next, file);
    },
  };
}

/** A restored dump has other table ids, and a server that lost commits has another timeline. */
function createServerMark(database: Database): DatabaseMark {
  let isWritten = false;
  return {
    async wasPutBack() {
      const made = await identify(database);
      const known = await readSetting(database.kysely, 'database_made_as');
      return made !== null && known !== undefined && known !== made;
    },
    async write() {
      if (isWritten) return;
      const made = await identify(database);
      if (made !== null) {
        await inTransaction(database, (tx) => writeSetting(tx, 'database_made_as', made));
      }
      isWritten = true;
    },
  };
}

/** @returns null if the server does not allow the question */
async function identify({ kysely }: Database): Promise<string | null> {
  const asked = sql<{ made: string }>`select concat_ws('/',
      (select system_identifier from pg_control_system()),
      substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
      (select oid from pg_database where datname = current_database()),
      to_regclass('setting')::oid) as made`;
  const answer = await asked.execute(kysely).catch(() => null);
  return answer?.rows[0]?.made ?? null;
}
