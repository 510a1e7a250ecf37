import { cpSync, renameSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { createDatabaseMark } from '../../src/db/database-mark.ts';
import { openForTest, sqlite } from '../support/databases.ts';
import { createFolder } from '../support/folder.ts';

it('a database that has moved with its volume is no copy, and a copy of it is one', async () => {
  const folder = createFolder();
  const at = (name: string) => path.join(folder, name);
  const markOf = (name: string) => createDatabaseMark(openForTest(`sqlite:${at(name)}/gangway.db`));
  cpSync(path.dirname((await sqlite.createMigrated()).slice('sqlite:'.length)), at('first'), { recursive: true });
  expect(await markOf('first').isCopy()).toBe(false);
  await markOf('first').write('2026-03-15T12:00:00.000Z');
  expect(await markOf('first').isCopy()).toBe(false);
  cpSync(at('first'), at('copied'), { recursive: true });
  renameSync(at('first'), at('moved'));
  expect([await markOf('moved').isCopy(), await markOf('copied').isCopy()]).toEqual([false, true]);
});
