import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { type Database, inTransaction } from '../../src/db/database.ts';
import { createInboxStore } from '../../src/inbox/inbox-store.ts';
import { rotateKey } from '../../src/keys/rotate-key.ts';
import { createSealedValueStore, sealedColumns } from '../../src/keys/sealed-value-store.ts';
import { createSealerNotice } from '../../src/keys/sealer-notice.ts';
import { createSealerStore } from '../../src/keys/sealer-store.ts';
import { createSecretBox, type SecretBox } from '../../src/keys/secret-box.ts';
import { openSecretBox } from '../../src/keys/secret-key.ts';
import { contractsStarted } from '../support/deliveries.ts';
import { createEngine, type Engine } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
const never = new AbortController().signal;

describeAnyDatabase('replacing the key', (openFresh) => {
  it('seals everything anew, so that the new key alone opens it and the old one does not', async () => {
    const { engine, database } = await openSealed(openFresh);
    const bodies = await openBodies(database, createSecretBox(oldKey));
    const rotated = await rotate(engine);
    expect(rotated).toEqual({ resealed: 123 + 6, unopened: 0 });

    const box = await openSecretBox(database, { key: newKey, previous: [] });
    expect(await openBodies(database, box)).toEqual(bodies);
    expect(await findByAddress(database, box, 't2@opentrain.work')).toEqual(['t2']);
    await expect(openSecretBox(database, { key: oldKey, previous: [] })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('another secret key'),
    });
    // A merge opens what is stored before it writes.
    const renewed = createEngine(database, { key: newKey });
    await renewed.apply([started(2, { workEmail: 'new@opentrain.work', id: '7000000099' })]);
    expect(await findByAddress(database, box, 'new@opentrain.work')).toEqual(['t2']);
    expect(await rotate(engine)).toEqual({ resealed: 0, unopened: 0 });
  });

  it('goes on where it was stopped, and until then needs both keys', async () => {
    const { engine, database } = await openSealed(openFresh);
    const stopping = new AbortController();
    const stopped = rotate(engine, {
      signal: stopping.signal,
      onProgress: () => stopping.abort(new Error('stopping')),
    });
    await expect(stopped).rejects.toThrow();
    const count = await countCurrent(database);
    expect(count).toBe(50);

    for (const key of [oldKey, newKey]) {
      await expect(openSecretBox(database, { key, previous: [] })).rejects.toMatchObject({
        code: 'conflict',
      });
    }
    const both = await openSecretBox(database, { key: oldKey, previous: [newKey] });
    expect(await openBodies(database, both)).toHaveLength(123);
    expect(await rotate(engine)).toEqual({ resealed: 123 + 6 - 50, unopened: 0 });
    await openSecretBox(database, { key: newKey, previous: [] });
  });

  it('goes on beside instances that seal with the new key', async () => {
    const { engine, database } = await openSealed(openFresh);
    const beside = createEngine(database, { key: newKey, previousKeys: [oldKey] });
    await notice(engine, newKey).start();
    const changes: Promise<void>[] = [];
    await rotate(engine, {
      onProgress() {
        if (changes.length > 0) return;
        const later = started(1, { workEmail: 'later@opentrain.work', id: '7000000099' });
        changes.push(beside.apply([later]), beside.deliver([later]));
      },
    });
    await Promise.all(changes);
    expect(changes).toHaveLength(2);
    const box = await openSecretBox(database, { key: newKey, previous: [] });
    expect(await openBodies(database, box)).toHaveLength(124);
    expect(await findByAddress(database, box, 'later@opentrain.work')).toEqual(['t1']);
  });

  it('writes over nothing that was changed since it was read', async () => {
    const { engine, database } = await openSealed(openFresh);
    const people = sealedColumns.find(({ table }) => table === 'person');
    if (people === undefined) throw new Error('no such column');
    const store = createSealedValueStore(database);
    const [read] = await store.page(people, null, 1);
    if (read === undefined) throw new Error('no such person');
    await engine.apply([started(1, { workEmail: 'later@opentrain.work', id: '7000000099' })]);
    const renewed = { sealed: Buffer.from('stale'), digest: 'stale' };
    const replace = () => inTransaction(database, (tx) => store.replace(tx, people, read, renewed));
    expect(await replace()).toBe(false);
    expect(await findByAddress(database, engine.box, 'later@opentrain.work')).toEqual(['t1']);
  });

  it('is refused while another instance seals with the old key, and until its lease ends', async () => {
    const { engine, database } = await openSealed(openFresh);
    const running = notice(engine, oldKey);
    await running.start();
    await expect(rotate(engine)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/seals with another key.*restart it/),
    });
    expect(await countCurrent(database)).toBe(0);
    await running.stop();
    expect(await rotate(engine)).toMatchObject({ resealed: 129 });
  });

  it('forgets an instance that was killed', async () => {
    const { engine } = await openSealed(openFresh);
    const sealer = { id: 'killed', fingerprint: createSecretBox(oldKey).fingerprint };
    const store = createSealerStore(engine.database);
    const [now, until] = ['2026-03-15T12:00:00.000Z', '2026-03-15T12:00:30.000Z'];
    await store.announce(sealer, now, until);
    await expect(rotate(engine)).rejects.toMatchObject({ code: 'conflict' });
    engine.clock.advance(30_000);
    expect(await rotate(engine)).toMatchObject({ resealed: 129 });
  });

  it('is done by one at a time', async () => {
    const { engine } = await openSealed(openFresh);
    const second: Promise<unknown>[] = [];
    await rotate(engine, {
      onProgress() {
        if (second.length === 0) second.push(rotate(engine).catch((error: unknown) => error));
      },
    });
    expect(await second[0]).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('by another process already'),
    });
  });

  it('can be done again with yet another key', async () => {
    const { engine, database } = await openSealed(openFresh);
    await rotate(engine);
    const third = randomBytes(32);
    const box = await openSecretBox(database, { key: third, previous: [newKey] });
    expect(await rotate(engine, { box })).toMatchObject({ resealed: 129 });
    await openSecretBox(database, { key: third, previous: [] });
  });

  it('seals the largest bodies anew too, and those that are empty', async () => {
    const { engine, database } = await openSealed(openFresh);
    const large = Array.from({ length: 9 }, (_, index) => `${index}`.padEnd(256 * 1024, 'x'));
    await engine.deliver([...large, '']);
    expect(await rotate(engine)).toEqual({ resealed: 129 + 10, unopened: 0 });
    const bodies = await openBodies(database, createSecretBox(newKey));
    expect(bodies.filter((body) => body.length === 0 || body.length > 9999).sort()).toEqual(['', ...large]);
  });

  it('passes over the bodies that were not kept', async () => {
    const { engine } = await openSealed(openFresh);
    await engine.deliver(['{"type":"payout.sent"}']);
    expect(await rotate(engine)).toEqual({ resealed: 129, unopened: 0 });
  });

  it('leaves what is broken as it is, and says how many', async () => {
    const { engine, database } = await openSealed(openFresh);
    const broken = { body: Buffer.from('spoilt') };
    await database.kysely.updateTable('delivery').set(broken).where('id', '=', 7).execute();
    expect(await rotate(engine)).toEqual({ resealed: 128, unopened: 1 });
    await openSecretBox(database, { key: newKey, previous: [] });
  });
});

describeAnyDatabase('the columns of bytes', (openFresh) => {
  /** What is no secret: a digest of what was signed. */
  const plain = ['delivery.body_sha256'];

  it('are all among those that are sealed anew', async () => {
    const database = await openFresh();
    const listed = sealedColumns.map(({ table, column }) => `${toSnakeCase(table)}.${toSnakeCase(column)}`);
    expect(await listByteColumns(database)).toEqual([...listed, ...plain].sort());
  });
});

/** A database with an old key: more deliveries than one chunk has, and three people. */
async function openSealed(openFresh: () => Promise<Database>) {
  const database = await openFresh();
  await openSecretBox(database, { key: oldKey, previous: [] });
  const engine = createEngine(database, { key: oldKey });
  await engine.inbox.append(contractsStarted(123));
  await engine.apply([1, 2, 3].map((number) => started(number)));
  return { engine, database };
}

async function rotate(engine: Engine, changes: Partial<Parameters<typeof rotateKey>[0]> = {}) {
  const { database, clock } = engine;
  const ring = { key: newKey, previous: [oldKey] };
  const box = changes.box ?? (await openSecretBox(database, ring));
  return await rotateKey({ database, box, clock, signal: never, onProgress: () => undefined, ...changes });
}

function notice({ database, clock, logger }: Engine, key: Buffer) {
  const { fingerprint } = createSecretBox(key);
  return createSealerNotice({ sealers: createSealerStore(database), fingerprint, clock, logger });
}

function started(number: number, wish: object = {}): string {
  const names = { contract: `c${number}`, trainer: `t${number}` };
  return fullEvent({ type: 'contract.started', ...names, ...wish });
}

async function openBodies(database: Database, box: SecretBox): Promise<string[]> {
  const rows = await database.kysely.selectFrom('delivery').selectAll().orderBy('id').execute();
  return rows.map((row) => createInboxStore(database, box).openBody(row).toString());
}

async function findByAddress({ kysely }: Database, box: SecretBox, address: string) {
  const found = kysely.selectFrom('person').select('trainerId');
  const rows = await found.where('workEmailDigest', '=', box.digest(address)).execute();
  return rows.map(({ trainerId }) => trainerId);
}

async function countCurrent({ kysely }: Database): Promise<number> {
  const box = createSecretBox(newKey);
  const rows = await kysely.selectFrom('delivery').select('body').execute();
  return rows.filter(({ body }) => box.isCurrent(body)).length;
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

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
