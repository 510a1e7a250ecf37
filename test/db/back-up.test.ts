import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { openStorage } from '../../src/app/storage.ts';
import { sqliteFileOf } from '../../src/db/sqlite-database.ts';
import { backUp } from '../../src/db/sqlite-file.ts';
import { appendDeliveries } from '../../src/inbox/inbox-store.ts';
import { describeEachDialect, openForTest, sqlite } from '../support/databases.ts';
import { newDelivery } from '../support/deliveries.ts';
import { createFolder } from '../support/folder.ts';

it('a backup taken beside a running bridge has what was still in the log', async () => {
  const url = await sqlite.createMigrated();
  const storage = await openStorage(url);
  await appendDeliveries(storage, [newDelivery('{"id": "1"}')]);
  expect(statSync(`${sqliteFileOf(url)}-wal`).size).toBeGreaterThan(0);
  const folder = createFolder();
  const file = path.join(folder, 'backup.db');
  await backUp(storage.database, file);
  await appendDeliveries(storage, [newDelivery('{"id": "2"}')]);
  await storage.database.close();
  expect(readdirSync(folder)).toEqual(['backup.db']);
  expect(statSync(file).mode & 0o777).toBe(0o600);

  const restored = await openStorage(`sqlite:${file}`, storage.secretKey);
  expect(await restored.database.kysely.selectFrom('delivery').select('id').execute()).toHaveLength(1);
  await restored.database.close();
});

describeEachDialect('a backup', ({ name, createMigrated }) => {
  it('replaces no file, and says what to run on PostgreSQL', async () => {
    const file = path.join(createFolder(), 'backup.db');
    writeFileSync(file, 'kept');
    const refused = name === 'postgres' ? /pg_dump --format=custom/ : /backup\.db: the file exists: name a new one/;
    await expect(backUp(openForTest(await createMigrated()), file)).rejects.toThrow(refused);
    expect(readdirSync(path.dirname(file))).toEqual(['backup.db']);
    expect(readFileSync(file, 'utf8')).toBe('kept');
  });
});
