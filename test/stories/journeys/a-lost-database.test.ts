import { copyFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { sqliteFileOf } from '../../../src/db/sqlite-database.ts';
import { acmeSecret, startBridge, writeBridgeConfig } from '../../support/bridge-process.ts';
import { openForTest, sqlite } from '../../support/databases.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { createFolder } from '../../support/folder.ts';
import { createSender } from '../../support/sender.ts';
import { until } from '../../support/until.ts';

describe('the files of a database that is open', () => {
  it.each<[string, (file: string) => void]>([
    ['was deleted', (file) => rmSync(file)],
    [
      'was replaced by a copy',
      (file) => {
        copyFileSync(file, `${file}-copy`);
        renameSync(`${file}-copy`, file);
      },
    ],
    ['lost its log', (file) => rmSync(`${file}-wal`)],
  ])('are missed when it %s', async (_, lose) => {
    const url = await sqlite.createMigrated();
    const database = openForTest(url);
    await database.kysely.selectFrom('delivery').select('id').execute();
    expect(() => database.checkFile?.()).not.toThrow();
    lose(sqliteFileOf(url) ?? '');
    expect(() => database.checkFile?.()).toThrow(/was deleted or replaced .* "gangway restore"/);
  });

  it('were deleted under a bridge that stayed ready, and created an empty database for the next deliveries', async () => {
    const setup = writeBridgeConfig(createFolder(), await sqlite.createMigrated());
    const folder = path.dirname(sqliteFileOf(setup.databaseUrl) ?? '');
    const bridge = await startBridge(setup);
    const sender = createSender(acmeSecret, 1);
    const send = (id: string) => sender.send(bridge.url, fullEvent({ type: 'contract.started' }), id);
    const readyz = async () => (await fetch(new URL('/readyz', bridge.url))).status;
    const alert = () => bridge.log().find((line) => line['alert'] === 'database_lost');
    expect(await readyz()).toBe(200);

    renameSync(folder, `${folder}-away`);
    expect(await send('d1')).toMatchObject({ status: 503, said: 'unavailable' });
    await until('it is not ready', readyz, (status) => status === 503);
    renameSync(`${folder}-away`, folder);
    expect(await send('d1')).toMatchObject({ status: 200, said: 'accepted' });
    await until('it is ready', readyz, (status) => status === 200);

    renameSync(folder, `${folder}-away`);
    await until('an alert says so', alert, (line) => line !== undefined);
    expect(await bridge.stop()).toBe(0);
  });
});
