import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { createHeartbeat } from '../../src/db/instance-store.ts';
import { snakeCaseOf } from '../../src/db/snake-case.ts';
import { appendDeliveries } from '../../src/inbox/append-store.ts';
import { openBody } from '../../src/inbox/inbox-store.ts';
import { rotateKey, sealedColumns } from '../../src/keys/rotate-key-store.ts';
import { createSecretBox, type SecretBox } from '../../src/keys/secret-box.ts';
import { checkKey, openSecretBox } from '../../src/keys/secret-key.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { contractsStarted } from '../support/deliveries.ts';
import { createEngine, type Engine } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';

const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
const never = new AbortController().signal;

describeEachDatabase('rotating the key', (openFresh) => {
  it('seals everything anew, so that the new key alone opens it', async () => {
    const { engine, database } = await openSealed(openFresh);
    const bodies = await openBodies(database, createSecretBox(oldKey));
    expect(await rotate(engine)).toEqual({ resealed: 123 + 6, unopened: 0 });

    const box = await openSecretBox(database, newKey);
    expect(await openBodies(database, box)).toEqual(bodies);
    expect(await findByAddress(database, box, 't2@opentrain.work')).toEqual(['t2']);
    await expect(openSecretBox(database, oldKey)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('another secret key'),
    });
    // A merge opens what is stored before it writes.
    const renewed = createEngine(database, { key: newKey });
    await renewed.apply([started(2, { workEmail: 'new@opentrain.work', id: '7000000099' })]);
    expect(await findByAddress(database, box, 'new@opentrain.work')).toEqual(['t2']);
    expect(await rotate(engine)).toEqual({ resealed: 0, unopened: 0 });
  });

  it('that is killed at any column leaves a database that opens with the old key, and can be run again', async () => {
    const { engine, database } = await openSealed(openFresh);
    const bodies = await openBodies(database, createSecretBox(oldKey));
    for (const { table, column } of sealedColumns) {
      const killed = rotate(engine, {
        onProgress(progress) {
          if (progress.column === `${table}.${column}`) throw new Error('killed');
        },
      });
      await expect(killed).rejects.toThrow('killed');
      const box = await openSecretBox(database, oldKey);
      expect(await openBodies(database, box)).toEqual(bodies);
      expect(await findByAddress(database, box, 't2@opentrain.work')).toEqual(['t2']);
      await expect(openSecretBox(database, newKey)).rejects.toMatchObject({ code: 'conflict' });
    }
    expect(await rotate(engine)).toMatchObject({ resealed: 129 });
    await openSecretBox(database, newKey);
  });

  it('is refused while an instance or any other process runs, and names the instance', async () => {
    const { engine, database } = await openSealed(openFresh);
    const heartbeat = createHeartbeat(engine);
    await heartbeat.start();
    await expect(rotate(engine)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(new RegExp(`^Gangway is running \\(.+/${process.pid}\\): stop it`)),
    });
    await heartbeat.stop();
    await expect(rotate(engine, { isAlone: false })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('Another gangway process uses the database'),
    });
    await openSecretBox(database, oldKey);
    expect(await rotate(engine)).toMatchObject({ resealed: 129 });
  });

  it('is refused for half a minute after an instance was killed', async () => {
    const { engine } = await openSealed(openFresh);
    const beatAt = engine.clock.now().toISOString();
    const killed = { id: 'killed', name: 'host/1', version: '0.1.0', startedAt: beatAt, beatAt, stoppedAt: null };
    await engine.database.kysely.insertInto('instance').values(killed).execute();
    await expect(rotate(engine)).rejects.toMatchObject({ code: 'conflict' });
    engine.clock.advance(30_000);
    expect(await rotate(engine)).toMatchObject({ resealed: 129 });
  });

  it('lets no instance start with the old key meanwhile', async () => {
    const { engine, database } = await openSealed(openFresh);
    const box = await openSecretBox(database, oldKey);
    const heartbeat = createHeartbeat(engine);
    const start = async () => {
      await heartbeat.start();
      await checkKey(database, box);
    };
    const starts: Promise<unknown>[] = [];
    await rotate(engine, {
      onProgress: () => void (starts.length === 0 && starts.push(start().catch((error: unknown) => error))),
    });
    expect(await starts[0]).toMatchObject({ code: 'conflict', message: expect.stringContaining('another secret key') });
    await heartbeat.stop();
  });

  it("is refused with an old key that is not the database's", async () => {
    const { engine, database } = await openSealed(openFresh);
    await expect(rotate(engine, { oldKey: randomBytes(32) })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('another secret key'),
    });
    await openSecretBox(database, oldKey);
  });

  it('can be done again with yet another key', async () => {
    const { engine, database } = await openSealed(openFresh);
    await rotate(engine);
    const third = randomBytes(32);
    expect(await rotate(engine, { oldKey: newKey, newKey: third })).toMatchObject({ resealed: 129 });
    await openSecretBox(database, third);
  });

  it('seals the largest bodies anew too, and those that are empty', async () => {
    const { engine, database } = await openSealed(openFresh);
    const large = Array.from({ length: 9 }, (_, index) => `${index}`.padEnd(256 * 1024, 'x'));
    await engine.deliver([...large, '']);
    expect(await rotate(engine)).toEqual({ resealed: 129 + 10, unopened: 0 });
    const bodies = await openBodies(database, createSecretBox(newKey));
    expect(bodies.filter((body) => body.length === 0 || body.length > 9999).sort()).toEqual(['', ...large]);
  });

  it('skips bodies that were not kept', async () => {
    const { engine } = await openSealed(openFresh);
    await engine.deliver(['{"type":"payout.sent"}']);
    expect(await rotate(engine)).toEqual({ resealed: 129, unopened: 0 });
  });

  it('leaves broken values unchanged, and counts them', async () => {
    const { engine, database } = await openSealed(openFresh);
    const broken = { body: Buffer.from('spoilt') };
    await database.kysely.updateTable('delivery').set(broken).where('id', '=', 7).execute();
    expect(await rotate(engine)).toEqual({ resealed: 128, unopened: 1 });
    await openSecretBox(database, newKey);
  });
});

describeEachDatabase('the columns of bytes', (openFresh) => {
  /** What is no secret: a digest of what was signed. */
  const plain = ['delivery.body_sha256'];

  it('are all among those that are sealed anew', async () => {
    const database = await openFresh();
    const listed = sealedColumns.map(({ table, column }) => `${snakeCaseOf(table)}.${snakeCaseOf(column)}`);
    expect(await listByteColumns(database)).toEqual([...listed, ...plain].sort());
  });
});

/** A database with an old key: more deliveries than one page has, and three people. */
async function openSealed(openFresh: () => Promise<Database>) {
  const database = await openFresh();
  await openSecretBox(database, oldKey);
  const engine = createEngine(database, { key: oldKey });
  await appendDeliveries(engine, contractsStarted(123));
  await engine.apply([1, 2, 3].map((number) => started(number)));
  return { engine, database };
}

async function rotate({ database, clock }: Engine, changes: Partial<Parameters<typeof rotateKey>[0]> = {}) {
  const given = { database, clock, oldKey, newKey, isAlone: true, signal: never, onProgress: () => undefined };
  return await rotateKey({ ...given, ...changes });
}

function started(number: number, wish: object = {}): string {
  const names = { contract: `c${number}`, trainer: `t${number}` };
  return fullEvent({ type: 'contract.started', ...names, ...wish });
}

async function openBodies(database: Database, box: SecretBox): Promise<string[]> {
  const rows = await database.kysely.selectFrom('delivery').selectAll().orderBy('id').execute();
  return rows.map((row) => openBody({ database, box }, row).toString());
}

async function findByAddress({ kysely }: Database, box: SecretBox, address: string) {
  const found = kysely.selectFrom('person').select('trainerId');
  const rows = await found.where('workEmailDigest', '=', box.digest(address)).execute();
  return rows.map(({ trainerId }) => trainerId);
}

async function listByteColumns({ dialect, kysely }: Database): Promise<string[]> {
  const query =
    dialect === 'sqlite'
      ? sql<{ name: string }>`select m.name || '.' || c.name as name
          from sqlite_master m, pragma_table_info(m.name) c
          where m.type = 'table' and m.name not like 'sqlite_%' and lower(c.type) in ('blob', '')`
      : sql<{ name: string }>`select table_name || '.' || column_name as name
          from information_schema.columns
          where table_schema = 'public' and data_type = 'bytea'`;
  return (await query.execute(kysely)).rows.map(({ name }) => name).sort();
}
