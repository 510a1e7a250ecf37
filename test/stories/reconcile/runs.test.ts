import { expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { claimJob } from '../../../src/jobs/job-store.ts';
import { instantIn, toInstant } from '../../../src/lib/clock.ts';
import { wantRead } from '../../../src/reconcile/read/install-state-store.ts';
import { endRuns } from '../../../src/reconcile/runs/reconcile-install.ts';
import {
  beginRun,
  countPlanWork,
  countRunWork,
  lastReceiptId,
  noteRunRead,
} from '../../../src/reconcile/runs/run-store.ts';
import { decidePlanItems } from '../../../src/removals/plan-store.ts';
import { createIncident, type Incident, type Listing, minutes } from '../../support/incident.ts';
import { storageOf } from '../../support/storage-of.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { watchQueries } from '../../support/watch-queries.ts';

const links = { cml1: 'signs' };
const on = (...people: string[]) => ({ cmc1: { links: ['cml1'], people } });
const both: Listing = { links, active: on('u1', 'u2') };
/** That list is not empty: what it does not say of others counts. */
const ended: Listing = { links, ended: on('u1', 'u2'), active: { cmc9: { links: ['cml1'], people: ['u9'] } } };

describeAnyDatabase('a run', (openFresh) => {
  const open = async () => createIncident(await openFresh());
  const runs = ({ engine }: Incident) => engine.rows('run');

  it('is written down with what was read, and with what came of it', async () => {
    const incident = await open();
    await incident.read(both);
    expect(await runs(incident)).toMatchObject([
      { install: 'acme', trigger: 'event', contracts: 1, outcome: null, endedAt: null },
    ]);
    await endRuns(incident.engine);
    expect(await runs(incident)).toMatchObject([
      { outcome: 'applied', added: 2, removed: 0, held: 0, failed: 0, failure: null },
    ]);
    incident.engine.clock.advance(1000);
    await incident.read(both);
    await endRuns(incident.engine);
    expect(await runs(incident)).toMatchObject([{ added: 2 }, { outcome: 'clean', added: 0 }]);
  });

  it('counts what the brake holds', async () => {
    const incident = await open();
    await incident.read(both);
    incident.engine.clock.advance(1000);
    await incident.read(ended);
    await endRuns(incident.engine);
    const [, second] = await runs(incident);
    expect(second).toMatchObject({ outcome: 'held', added: 1, removed: 0, held: 2 });
  });

  it('tells what became of a plan that was approved', async () => {
    const incident = await open();
    const { engine } = incident;
    await incident.read(both);
    await incident.read(ended);
    const now = toInstant(engine.clock.now());
    await inTransaction(engine.database, (tx) => decidePlanItems(engine, tx, 1, 'approved', now));
    expect(await countPlanWork(engine, 1)).toEqual({ removed: 0, failed: 0, left: 2 });
    await incident.settle();
    expect(await countPlanWork(engine, 1)).toEqual({ removed: 2, failed: 0, left: 0 });
  });

  it('does not wait for a trainer who is not found and only has to be looked for once more', async () => {
    const incident = await open();
    const { engine, tool } = incident;
    await incident.read(both);
    await incident.read(ended);
    tool.unseat('signs', 'u1');
    const now = toInstant(engine.clock.now());
    await inTransaction(engine.database, (tx) => decidePlanItems(engine, tx, 1, 'approved', now));
    await incident.settle();
    expect(await countPlanWork(engine, 1)).toEqual({ removed: 1, failed: 0, left: 0 });
    // By `--wait 60s` from before that look.
    const since = { at: now, afterReceipt: 0 };
    const left = (until: string) => countRunWork(engine, 'acme', since, now, until);
    expect(await left(instantIn(engine.clock, minutes - 1))).toMatchObject({ left: 0 });
    expect(await left(instantIn(engine.clock, minutes))).toMatchObject({ left: 1 });
    await incident.pass(minutes);
    expect(await countPlanWork(engine, 1)).toEqual({ removed: 2, failed: 0, left: 0 });
  });

  it('is begun by one instance, for the install that was asked for', async () => {
    const { engine } = await open();
    const { clock, database } = engine;
    const now = toInstant(clock.now());
    const until = instantIn(clock, minutes);
    const installs = ['acme', 'globex'];
    await inTransaction(database, (tx) => wantRead(tx, installs, now, 'command'));
    const claim = (install: string) => claimJob(engine, 'reconcile', install, { now, leasedUntil: until });
    const taken = await Promise.all([claim('globex'), claim('globex')]);
    expect(taken.filter((one) => one !== null)).toMatchObject([{ install: 'globex' }]);
    expect(await claim('acme')).toMatchObject({ install: 'acme' });
  });

  it('has failed where the install could not be read, and removes no member', async () => {
    const incident = await open();
    await incident.read(both);
    await endRuns(incident.engine);
    await expect(incident.read({ links, isRefused: true })).resolves.toBeUndefined();
    expect(await runs(incident)).toMatchObject([
      {},
      { outcome: 'failed', contracts: 0, failure: 'The token is refused' },
    ]);
    expect(incident.removals()).toEqual([]);
  });

  it('is ended a minute later where not all was done', async () => {
    const incident = await open();
    await incident.read(both);
    await incident.engine.database.kysely
      .updateTable('membership')
      .set({ nextAttemptAt: '2026-01-01T00:00:00.000Z' })
      .execute();
    await endRuns(incident.engine);
    expect(await runs(incident)).toMatchObject([{ outcome: null }]);
    incident.engine.clock.advance(minutes);
    await endRuns(incident.engine);
    expect(await runs(incident)).toMatchObject([{ outcome: 'failed', failure: 'Not done in time: 2' }]);
  });

  it.each([1, 2, 3])('counts a trainer who is added after look %i of the count', async (number) => {
    const incident = await open();
    const { engine } = incident;
    const since = { at: '2026-01-01T00:00:00.000Z', afterReceipt: await lastReceiptId(engine) };
    await incident.take('contract.started');
    const now = toInstant(engine.clock.now());
    let looks = 0;
    const watched = engine.database.kysely.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        looks += 1;
        if (looks === number) await incident.settle();
        return result;
      },
    });
    const storage = storageOf({ ...engine.database, kysely: watched });
    const { added, left } = await countRunWork(storage, 'acme', since, now, now);
    expect(looks).toBe(3);
    expect(added + left).toBeGreaterThan(0);
    expect(await countRunWork(engine, 'acme', since, now, now)).toMatchObject({ added: 1, left: 0 });
  });

  it('is not clean where a trainer is derived and added while it counts what is left', async () => {
    const incident = await open();
    const now = toInstant(incident.engine.clock.now());
    const run = await beginRun(incident.engine, 'acme', 'schedule', now);
    await noteRunRead(incident.engine, run, 1, now);
    let isHired = false;
    const database = watchQueries(incident.engine.database, {
      // The look for trainers who wait to be derived.
      async 'select derivation'() {
        if (isHired) return;
        isHired = true;
        await incident.event('contract.started');
      },
    });
    await endRuns({ ...incident.engine, database });
    expect(await incident.engine.rows('run')).toMatchObject([{ outcome: 'applied', added: 1 }]);
  });

  it('that was cut off does not stay open', async () => {
    const incident = await open();
    const { engine } = incident;
    await beginRun(engine, 'acme', 'schedule', '2026-03-15T12:00:00.000Z');
    await endRuns(engine);
    expect(await runs(incident)).toMatchObject([{ outcome: null }]);
    engine.clock.advance(15 * minutes);
    await endRuns(engine);
    expect(await runs(incident)).toMatchObject([{ outcome: 'failed' }]);
  });
});
