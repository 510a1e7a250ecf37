import { renameSync, statSync } from 'node:fs';
import path from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { createCheckpointer } from '../../src/db/checkpointer.ts';
import { sqliteFileOf } from '../../src/db/sqlite-database.ts';
import { sqlite } from '../support/databases.ts';
import { createLogLines } from '../support/log-lines.ts';
import { until } from '../support/until.ts';

it('keeps the log of SQLite short again after it has failed', async () => {
  const file = sqliteFileOf(await sqlite.createMigrated()) ?? '';
  const [folder, away] = [path.dirname(file), `${path.dirname(file)}-away`];
  const database = new SqliteDatabase(file);
  onTestFinished(() => void database.close());
  database.pragma('journal_mode = WAL');
  const log = createLogLines();
  const checkpointer = createCheckpointer(file, log.logger, 100);
  checkpointer.start();
  onTestFinished(() => checkpointer.stop());

  const said = () => log.lines().map(({ msg }) => String(msg));
  renameSync(folder, away);
  await until('it has failed', said, ([first = '']) => first.includes('has failed'));
  renameSync(away, folder);
  database.pragma('wal_autocheckpoint = 0');
  database.exec('create table filler (bytes blob); insert into filler values (zeroblob(4194304))');
  await until(
    'it is kept short',
    () => statSync(file).size,
    (size) => size > 4_194_304,
  );
  await until('it says so', said, (lines) => lines.some((line) => line.includes('short again')));
  // However often it was tried meanwhile.
  expect(said().filter((line) => line.includes('has failed'))).toHaveLength(1);
});
