import { existsSync } from 'node:fs';
import type { LoadedConfig } from '../config/load-config.ts';
import { createAliveLock } from '../db/alive-lock.ts';
import { writeAudit } from '../db/audit-store.ts';
import { fillDatabase, listMigrations, type Part, type RowCounts, readTables } from '../db/copy-database.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { createDatabaseClock, type DatabaseClock } from '../db/database-clock.ts';
import { refuseRunning } from '../db/instance-store.ts';
import { migrate } from '../db/migrate.ts';
import { openDatabase } from '../db/open-database.ts';
import { AppError } from '../domain/errors.ts';
import { readBackup, readHeader, writeBackup } from '../keys/backup-file.ts';
import { type Progress, type RotatedKey, rotateKey } from '../keys/rotate-key-store.ts';
import { createSecretBox } from '../keys/secret-box.ts';
import { findKey, keyFileOf, loadNextKey, promoteNextKey } from '../keys/secret-key.ts';
import { systemClock, toInstant } from '../lib/clock.ts';
import { sayCount } from '../lib/text.ts';
import type { Columns } from '../operations/show.ts';
import { formatList } from '../operations/text-table.ts';
import type { Printed } from './define-command.ts';
import { type Session, type StorageSession, withProgress } from './session.ts';
import { decidedBy, loadCommandConfig, refuseMissing, withStorage } from './with-storage.ts';

/** `gangway backup`: beside running instances. */
export async function runBackup({ file }: { file: string }, { terminal, storage }: StorageSession): Promise<Printed> {
  const { database, box } = storage;
  const madeAt = toInstant(systemClock.now());
  const tables = await withProgress(terminal, (say) =>
    writeBackup(file, { database, box, madeAt }, (table) => say(`${table} is copied`)),
  );
  return {
    data: { file, madeAt, keyFingerprint: box.fingerprint, tables },
    text: () =>
      `${sayRows(tables)} were copied to ${file} and read back. It opens only with the key ${box.fingerprint}, which is not in it: keep a copy of the key file or of GANGWAY_SECRET_KEY elsewhere.`,
  };
}

/** `gangway restore`: fills the configured database, which must be new. */
export async function runRestore({ file }: { file: string }, session: Session): Promise<Printed> {
  const { config, secretKey } = loadCommandConfig(session, []);
  const { madeAt, migrations } = await readHeader(file);
  const box = createSecretBox(findKey(config.database.url, secretKey));
  const tables = await withProgress(session.terminal, (say) =>
    whileAlone(config.database.url, async (database, { isAlone }) => {
      if (!isAlone) throw new AppError('conflict', 'Gangway is running on this database: stop it first');
      return await fillDatabase(database, migrations, (insert) => readBackup(file, box, telling(say, insert)));
    }),
  );
  const text = `${sayRows(tables)} of ${madeAt} were restored. The next start reads every install before it acts.`;
  return { data: { madeAt, tables }, text: () => text };
}

/** `gangway migrate`: what every start does first, as a step of its own; or a move to another database. */
export async function runMigrate({ to }: { to: string | undefined }, session: Session): Promise<Printed> {
  if (to !== undefined) return await moveTo(to, session);
  const migrated = await withStorage(session, { mayBeFirst: true }, async ({ storage }) => storage.migrated);
  return {
    data: { migrated },
    text: () =>
      migrated.length === 0 ? 'The database is up to date.' : migrated.map((name) => `Ran ${name}.`).join('\n'),
  };
}

/** Copies every row to a new database. The old one stays as it is. */
async function moveTo(url: string, session: Session): Promise<Printed> {
  const loaded = loadCommandConfig(session, []);
  refuseMissing(loaded, true);
  const from = loaded.config.database.url;
  const tables = await withProgress(session.terminal, (say) =>
    whileAlone(from, async (database, rights) => {
      await migrate(database);
      await refuseRunning(database.kysely, rights);
      const ran = await listMigrations(database);
      return await whileAlone(url, (target) =>
        fillDatabase(target, ran, async (insert) => void (await readTables(database, telling(say, insert)))),
      );
    }),
  );
  const counted = Object.entries(tables).filter(([, rows]) => rows > 0);
  return {
    data: { tables },
    text: () =>
      [
        formatList(counted, tableColumns, ''),
        '',
        `${sayRows(tables)} were copied and counted.`,
        ...['Set database.url to the new database and start Gangway.', ...sayKey(from, url)],
        'The first start reads every install before it acts. Do not start Gangway on the old database again.',
      ].join('\n'),
  };
}

const tableColumns: Columns<[table: string, rows: number]> = [
  ['table', ([table]) => table],
  ['rows', ([, rows]) => rows, { align: 'right' }],
];

/** How the key gets to the new database, if it is in a file beside the old one. The rows stay sealed with it. */
function sayKey(from: string, to: string): string[] {
  const [file, nextFile] = [keyFileOf(from), keyFileOf(to)];
  if (file === undefined || !existsSync(file)) return [];
  return [nextFile === undefined ? `Set GANGWAY_SECRET_KEY to what is in ${file}.` : `Copy ${file} to ${nextFile}.`];
}

/** Opens a database and keeps other processes from opening it. `isAlone` is false if one has it open already. */
async function whileAlone<T>(
  url: string,
  work: (database: Database, rights: { isAlone: boolean; clock: DatabaseClock }) => Promise<T>,
): Promise<T> {
  const database = openDatabase(url);
  const clock = createDatabaseClock(database, systemClock);
  const alive = createAliveLock(database, clock, []);
  try {
    return await work(database, { isAlone: alive.holdAlone(), clock });
  } finally {
    alive.release();
    await database.close();
  }
}

function telling(say: (text: string) => void, insert: (part: Part) => Promise<void>) {
  return async (part: Part) => {
    if ('table' in part) say(`${part.table} is copied`);
    await insert(part);
  };
}

function sayRows(tables: RowCounts): string {
  return sayCount(
    Object.values(tables).reduce((sum, rows) => sum + rows, 0),
    'row',
  );
}

/** `gangway key show`: the fingerprint of the key that everything is sealed with. */
export async function runKeyShow(_given: object, session: Session): Promise<Printed> {
  const loaded = loadCommandConfig(session, []);
  const { fingerprint } = createSecretBox(findKey(loaded.config.database.url, loaded.secretKey));
  return { data: { fingerprint }, text: () => fingerprint };
}

/** `gangway key rotate` */
export async function runKeyRotate(_given: object, session: Session): Promise<Printed> {
  const { terminal } = session;
  const loaded = loadCommandConfig(session, []);
  refuseMissing(loaded, true);
  const { oldKey, newKey, promote } = findKeys(loaded);
  return await whileAlone(loaded.config.database.url, async (database, { isAlone, clock }) => {
    await migrate(database);
    await clock.correct();
    const { signal } = terminal;
    const rotated = await withProgress(terminal, (say) => {
      const onProgress = ({ column, seen }: Progress) => say(`${column}: ${seen} looked at`);
      return rotateKey({ database, oldKey, newKey, isAlone, clock, signal, onProgress });
    });
    promote();
    const { fingerprint } = createSecretBox(newKey);
    await inTransaction(database, (tx) => writeAudit(tx, decidedBy(), 'key rotate', `the key is ${fingerprint}`));
    return { data: { fingerprint, ...rotated }, text: () => toText(fingerprint, rotated) };
  });
}

interface Keys {
  oldKey: Buffer;
  newKey: Buffer;
  /** Replaces the old key in its file. */
  promote(): void;
}

function findKeys(loaded: LoadedConfig): Keys {
  const { config, secretKey, previousSecretKey } = loaded;
  const { url } = config.database;
  if (secretKey === undefined) {
    const oldKey = findKey(url, undefined);
    const file = keyFileOf(url);
    if (file === undefined) return { oldKey, newKey: oldKey, promote: () => undefined };
    return { oldKey, newKey: loadNextKey(file), promote: () => promoteNextKey(file) };
  }
  if (previousSecretKey === undefined) {
    throw new AppError(
      'invalid',
      'There is nothing to replace: set GANGWAY_SECRET_KEY to the new key and GANGWAY_SECRET_KEY_PREVIOUS to the old one, then run this again',
    );
  }
  return { oldKey: previousSecretKey, newKey: secretKey, promote: () => undefined };
}

function toText(fingerprint: string, { resealed, unopened }: RotatedKey): string {
  const done = `${resealed} sealed anew; the key is now ${fingerprint}. The one before is not needed any more.`;
  if (unopened === 0) return done;
  return `${done}\n${unopened} could not be opened with the old key and stay as they are.`;
}
