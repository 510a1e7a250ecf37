import { rmSync } from 'node:fs';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { type Database, inTransaction } from '../../../src/db/database.ts';
import { writeSetting } from '../../../src/db/setting-store.ts';
import { listInstallStates } from '../../../src/reconcile/read/install-state-store.ts';
import { type Alive, checkSilence, findHold, type SilenceHold } from '../../../src/reconcile/runs/silence.ts';
import { openForTest, postgres } from '../../support/databases.ts';
import { createEngine, type Engine, inStudio } from '../../support/engine-harness.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const seconds = 1000;
const minutes = 60 * seconds;
const hours = 60 * minutes;

describe('what is held', () => {
  const now = new Date('2026-03-15T12:00:00.000Z');
  const ago = (ms: number) => new Date(now.getTime() - ms).toISOString();
  const alive = { aliveAt: ago(0), wroteAt: null, wasPutBack: false };

  it.each<[string, Partial<Alive>, SilenceHold]>([
    ['nothing where no instance has ever run', { aliveAt: null }, 'nothing'],
    ['nothing after a restart', { aliveAt: ago(2 * minutes) }, 'nothing'],
    ['what is weaker after a pause', { aliveAt: ago(2 * minutes + 1) }, 'removals'],
    ['that up to an hour', { aliveAt: ago(hours) }, 'removals'],
    ['all after a silence', { aliveAt: ago(hours + 1) }, 'all'],
    ['all in a database that was put back', { wasPutBack: true }, 'all'],
    ['all where it has forgotten what was written', { aliveAt: ago(61_000), wroteAt: ago(0) }, 'all'],
    ['nothing where another wrote a little before', { aliveAt: ago(900), wroteAt: ago(0) }, 'nothing'],
  ])('is %s', (_what, more, hold) => {
    expect(findHold({ ...alive, ...more }, now)).toBe(hold);
  });
});

describeAnyDatabase('a silence', (openFresh) => {
  const open = async () => await openAlive(await openFresh());

  it('of a process that goes on, such as on a machine that slept, is noticed', async () => {
    const engine = await open();
    const silence = watch(engine);
    for (let look = 0; look < 20; look += 1) {
      expect(await silence.check()).toBe('nothing');
      engine.clock.advance(30 * seconds);
    }
    engine.clock.advance(20 * minutes);
    expect(await Promise.all([silence.check(), silence.check()])).toEqual(['removals', 'removals']);
    expect(await silence.check()).toBe('nothing');
    expect(await listInstallStates(engine)).toMatchObject([{ install: 'acme', heldSince: null }]);
    expect(await engine.rows('job')).toMatchObject([{ kind: 'reconcile', dueAt: engine.clock.now().toISOString() }]);
  });

  it('does not begin while another instance runs', async () => {
    const engine = await open();
    const frozen = watch(engine);
    await frozen.check();
    const other = watch(engine);
    for (let look = 0; look < 40; look += 1) {
      engine.clock.advance(30 * seconds);
      await other.check();
    }
    expect(await frozen.check()).toBe('nothing');
  });

  it('ends after the longest grace period at the latest, even if nothing can be read', async () => {
    const engine = await open();
    engine.clock.advance(2 * hours);
    const silence = watch(engine, { ...engine.config.removals, revokedGraceMs: hours });
    await silence.check();
    for (let passed = 0; passed < 60; passed += 2) {
      expect(await held(engine)).toEqual([true]);
      // The longest that is no silence itself.
      engine.clock.advance(2 * minutes);
      await silence.check();
    }
    expect(await held(engine)).toEqual([false]);
  });

  it('is assumed for a database that was restored while no instance ran, by the file beside it', async () => {
    const engine = await open();
    engine.clock.advance(5 * minutes);
    await watch(engine).check();
    engine.clock.advance(10 * seconds);
    await putBack(engine);
    expect(await watch(engine).check()).toBe('all');
    expect(await watch(engine).check()).toBe('nothing');
  });

  it('is assumed for a database that was put back under a running instance', async () => {
    const engine = await open();
    engine.clock.advance(90 * seconds);
    const running = watch(engine);
    await running.check();
    await setBack(engine.database, engine, 90 * seconds);
    engine.clock.advance(seconds);
    expect(await running.check()).toBe('all');
    expect(await held(engine)).toEqual([true]);
  });

  it('is not assumed because the mark is missing', async () => {
    const engine = await open();
    const { url } = engine.database;
    if (url.startsWith('sqlite:')) rmSync(`${url.slice('sqlite:'.length)}.alive`);
    expect(await watch(engine).check()).toBe('nothing');
  });
});

it('is noticed where a replica took over from the server of running instances, and lost no more than a second', async () => {
  const engine = await openAlive(openForTest(await postgres.createMigrated()));
  const instances = [watch(engine), watch(engine)] as const;
  for (const instance of instances) expect(await instance.check()).toBe('nothing');
  engine.clock.advance(2 * seconds);
  await makeAnew(engine.database);
  expect(await instances[0].check()).toBe('all');
  expect(await held(engine)).toEqual([true]);
  engine.clock.advance(2 * seconds);
  for (const instance of instances) expect(await instance.check()).toBe('nothing');
});

/** A process of its own. */
function watch(engine: Engine, { revokedGraceMs } = engine.config.removals) {
  const config = { ...engine.config, removals: { ...engine.config.removals, revokedGraceMs } };
  const ctx = { ...engine, config, database: { ...engine.database }, installs: new Map([['acme', inStudio()]]) };
  return { check: () => checkSilence(ctx) };
}

async function held(ctx: Engine): Promise<boolean[]> {
  return (await listInstallStates(ctx)).map(({ heldSince }) => heldSince !== null);
}

/** Of a database in which an instance ran just now. */
async function openAlive(database: Database): Promise<Engine> {
  const engine = createEngine(database);
  await watch(engine).check();
  return engine;
}

/** As a backup of 100 seconds ago: too little to be taken for a silence. */
async function putBack(engine: Engine): Promise<void> {
  const { database } = engine;
  await setBack(database, engine, 100 * seconds);
  if (database.dialect === 'postgres') await makeAnew(database);
}

/** As what a dump is restored into. The mark has the ids of tables beside the timeline, which a replica changes. */
async function makeAnew(database: Database): Promise<void> {
  for (const statement of [
    'alter table setting rename to before',
    'create table setting (like before including all)',
    'insert into setting select * from before',
    'drop table before',
  ]) {
    await sql.raw(statement).execute(database.kysely);
  }
}

async function setBack(database: Database, { clock }: Engine, ms: number): Promise<void> {
  const aliveAt = new Date(clock.now().getTime() - ms).toISOString();
  await inTransaction(database, (tx) => writeSetting(tx, 'last_alive_at', aliveAt));
}
