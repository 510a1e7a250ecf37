import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../../src/db/open-database.ts';
import { appendDeliveries } from '../../../src/inbox/append-store.ts';
import { createSecretBox } from '../../../src/keys/secret-box.ts';
import { openForTest, postgres, sqlite } from '../../support/databases.ts';
import { contractsStarted } from '../../support/deliveries.ts';
import { createFolder } from '../../support/folder.ts';
import { until } from '../../support/until.ts';

const box = createSecretBox(Buffer.alloc(32, 1));

describe('a delivery that was confirmed', () => {
  it('is there after the process that stored it was killed', async () => {
    const url = await sqlite.createMigrated();
    const storing = fork(writeProgram(), [url]);
    let answered = 0;
    storing.on('message', (count: number) => {
      answered = count;
      if (answered >= 40) storing.kill('SIGKILL');
    });
    await once(storing, 'exit');
    expect(answered).toBeGreaterThanOrEqual(40);
    const { kysely } = openForTest(url);
    const rows = await kysely.selectFrom('delivery').select('deliveryId').execute();
    const ids = new Set(rows.map(({ deliveryId }) => deliveryId));
    for (let id = 0; id < answered; id += 1) expect(ids).toContain(String(id));
    const check = await sql<{ integrityCheck: string }>`pragma integrity_check`.execute(kysely);
    expect(check.rows).toEqual([{ integrityCheck: 'ok' }]);
  });

  it('has waited for the disk on SQLite', async () => {
    const disk = Promise.withResolvers<void>();
    const database = openDatabase(await sqlite.createMigrated(), { sync: () => disk.promise });
    onTestFinished(() => database.close());
    const stored = appendDeliveries({ database, box }, contractsStarted(1));
    const { kysely } = openForTest(database.url);
    await until(
      'it is committed',
      () => kysely.selectFrom('delivery').select('id').execute(),
      ({ length }) => length > 0,
    );
    expect(await Promise.race([stored.then(() => 'confirmed'), wait(50, 'not yet')])).toBe('not yet');
    disk.resolve();
    await stored;
  });

  it('has waited for the disk on PostgreSQL', async () => {
    const database = openForTest(await postgres.createMigrated());
    await appendDeliveries({ database, box }, contractsStarted(1));
    const { rows } = await sql`show synchronous_commit`.execute(database.kysely);
    expect(rows).toEqual([{ synchronousCommit: 'on' }]);
  });
});

/** Stores one delivery after the other, for ever, and tells how many were answered for. */
function writeProgram(): string {
  const file = path.join(createFolder(), 'store.ts');
  const from = (source: string) => JSON.stringify(path.resolve(source));
  writeFileSync(
    file,
    `import { openDatabase } from ${from('src/db/open-database.ts')};
     import { appendDeliveries } from ${from('src/inbox/append-store.ts')};
     import { createSecretBox } from ${from('src/keys/secret-box.ts')};
     import { contractStarted, newDelivery } from ${from('test/support/deliveries.ts')};
     const storage = { database: openDatabase(process.argv[2]), box: createSecretBox(Buffer.alloc(32, 1)) };
     for (let id = 0; ; id += 1) {
       await appendDeliveries(storage, [newDelivery(contractStarted(id), { deliveryId: String(id) })]);
       process.send(id + 1);
     }`,
  );
  return file;
}
