import { expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { jobOf } from '../../../src/jobs/job.ts';
import { claimJob, wantJobs } from '../../../src/jobs/job-store.ts';
import { createJobWorker, runNextJob } from '../../../src/jobs/job-worker.ts';
import { instantIn, toInstant } from '../../../src/lib/clock.ts';
import type { Source, SourceReader } from '../../../src/marketplace/source.ts';
import { findInstallState, holdInstalls, wantRead } from '../../../src/reconcile/read/install-state-store.ts';
import { activeListJob } from '../../../src/reconcile/runs/active-list-job.ts';
import { endRuns, reconcileJob } from '../../../src/reconcile/runs/reconcile-install.ts';
import { beginRun } from '../../../src/reconcile/runs/run-store.ts';
import type { Engine } from '../../support/engine-harness.ts';
import { createIncident, hours, type Incident, toApi } from '../../support/incident.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { until } from '../../support/until.ts';
import { watchQueries } from '../../support/watch-queries.ts';

const people = Array.from({ length: 60 }, (_, index) => `u${index}`);
const active = Object.fromEntries(people.map((trainer) => [`c-${trainer}`, { links: ['l1'], people: [trainer] }]));
const whole = toApi({ links: { l1: 'signs' }, active });

/** Runs before each answer; what it throws is what is answered. */
function answering(before: (asked: string) => Promise<void> | void): SourceReader {
  return {
    ...whole,
    async listParticipants(id, signal) {
      await before(id);
      return await whole.listParticipants(id, signal);
    },
  };
}

async function want({ engine }: Incident): Promise<void> {
  const now = toInstant(engine.clock.now());
  await inTransaction(engine.database, (tx) => wantRead(tx, ['acme'], now));
}

function contextOf({ engine }: Incident, api: SourceReader) {
  return { ...engine, sources: new Map([['acme', { clockDriftMs: () => undefined, ...api } as Source]]) };
}

const { leaseMs } = reconcileJob;

function claim(engine: Engine, ms: number) {
  const lease = { now: toInstant(engine.clock.now()), leasedUntil: instantIn(engine.clock, ms) };
  return claimJob(engine, 'reconcile', 'acme', lease);
}

const { signal } = new AbortController();

describeAnyDatabase('a read that takes long', (openFresh) => {
  const open = async () => createIncident(await openFresh());
  const read = (incident: Incident, api: SourceReader) =>
    runNextJob(contextOf(incident, api), reconcileJob, 'acme', signal);

  it('is made once, though another instance looks at every moment of it', async () => {
    const incident = await open();
    const { engine } = incident;
    const asked: string[] = [];
    const takenByOther: boolean[] = [];
    const slow = answering(async (id) => {
      asked.push(id);
      engine.clock.advance(leaseMs / 12);
      takenByOther.push(await read(incident, whole));
      await endRuns(engine);
    });
    await want(incident);
    expect(await read(incident, slow)).toBe(true);
    // It took as long as five leases, and no other instance ever had it.
    expect(takenByOther).toEqual(people.map(() => false));
    expect(asked.toSorted()).toEqual(Object.keys(active).toSorted());
    expect(await engine.membershipRows()).toHaveLength(people.length);
    expect(await engine.rows('run')).toMatchObject([{ failure: null, contracts: people.length }]);
    expect(await engine.rows('job')).toEqual([]);
  });

  it('is taken over once it comes no further, and then leaves it to the other', async () => {
    const incident = await open();
    const { engine } = incident;
    let isHanging = false;
    const hanging = answering(async (id) => {
      if (isHanging || id === 'c-u0') return;
      isHanging = true;
      engine.clock.advance(leaseMs);
      expect(await claim(engine, 2 * leaseMs)).not.toBeNull();
      engine.clock.advance(leaseMs / 2);
    });
    await want(incident);
    await read(incident, hanging);
    expect(await engine.rows('run')).toMatchObject([
      { failure: expect.stringContaining('another process holds it now') },
    ]);
    // The instance that has it now still has it.
    expect(await read(incident, whole)).toBe(false);
    expect(await findInstallState(engine, 'acme')).toMatchObject({ attempts: 0, failure: null });
  });

  it('keeps what it has learnt where it fails, and goes on from there', async () => {
    const incident = await open();
    const { engine } = incident;
    const asked: string[] = [];
    const until = (limit: number) =>
      answering((id) => {
        if (asked.length >= limit) throw new AppError('unavailable', 'answered 503');
        asked.push(id);
      });
    await want(incident);
    await read(incident, until(55));
    await incident.settle();
    expect(await engine.rows('run')).toMatchObject([{ failure: 'answered 503' }]);
    expect(incident.tool.members('signs')).toHaveLength(50);
    engine.clock.advance(hours);
    await read(incident, until(people.length + 20));
    await incident.settle();
    expect(incident.tool.members('signs')).toEqual(people.toSorted());
    // Only those are asked twice that had answered and not been written down.
    expect(asked).toHaveLength(people.length + 5);
  });

  it('removes no member before it has ended well', async () => {
    const incident = await open();
    const { engine } = incident;
    const end = { c9: { links: ['l1'], people: ['z9'] } };
    const before = toApi({ links: { l1: 'signs', l2: 'lamps' }, active: { ...end } });
    await incident.readFrom(before);
    expect(incident.tool.members('signs')).toEqual(['z9']);
    engine.clock.advance(hours);
    const after = toApi({ links: { l1: 'signs' }, active, ended: end });
    const failing: SourceReader = {
      ...after,
      listParticipants: async (id, at) =>
        id === 'c-u59'
          ? Promise.reject(new AppError('unavailable', 'answered 503'))
          : await after.listParticipants(id, at),
    };
    await incident.readFrom(failing);
    expect(incident.tool.members('signs')).toHaveLength(51);
    expect(await engine.rows('link')).toMatchObject([{ absences: null }, { absences: null }]);
    expect(incident.removals()).toEqual([]);
    engine.clock.advance(hours);
    await incident.readFrom(after);
    expect(incident.removals()).toEqual(['remove signs/z9']);
  });

  it('is not written down as cut off while an instance has the install', async () => {
    const incident = await open();
    const { engine } = incident;
    const now = () => toInstant(engine.clock.now());
    await want(incident);
    await beginRun(engine, 'acme', 'schedule', now());
    engine.clock.advance(hours);
    await claim(engine, leaseMs);
    await endRuns(engine);
    expect(await engine.rows('run')).toMatchObject([{ endedAt: null }]);
    engine.clock.advance(leaseMs);
    await endRuns(engine);
    expect(await engine.rows('run')).toMatchObject([{ failure: expect.stringMatching(/^Interrupted/) }]);
  });

  it('is not taken for a loop that hangs', async () => {
    const incident = await open();
    const { engine } = incident;
    const slow = answering(async () => {
      engine.clock.advance(60_000);
      await until('the loop is healthy', loop.isHealthy, Boolean);
    });
    const { promise: isRead, resolve } = Promise.withResolvers<void>();
    const database = watchQueries(engine.database, { 'update run': () => resolve() });
    const loop = createJobWorker({ ...contextOf(incident, slow), database, pollMs: 1 }, [reconcileJob]);
    await want(incident);
    loop.start();
    await isRead;
    await loop.stop();
    expect(await engine.rows('run')).toMatchObject([{ contracts: people.length }]);
  });

  it('ends no hold if the clock is set back to the right time before the read is recorded', async () => {
    const incident = await open();
    const { clock, database, logger } = incident.engine;
    const isHeld = async () => (await findInstallState(incident.engine, 'acme'))?.heldSince !== null;
    clock.advance(48 * hours);
    await holdInstalls(incident.engine, ['acme'], toInstant(clock.now()));
    await want(incident);
    const info = () => clock.advance(-47 * hours);
    const ctx = { ...contextOf(incident, whole), logger: Object.assign(Object.create(logger), { info }) };
    await runNextJob(ctx, reconcileJob, 'acme', signal);
    expect(await isHeld()).toBe(true);
    const state = database.kysely.selectFrom('installState').select('readBeganAt');
    expect((await state.executeTakeFirst())?.readBeganAt).toBeNull();
  });

  it('adds no list of active contracts from the future', async () => {
    const incident = await open();
    const { clock, database } = incident.engine;
    clock.advance(48 * hours);
    await inTransaction(database, (tx) => wantJobs(tx, 'active list', [jobOf('acme')], toInstant(clock.now())));
    const setBack: SourceReader = {
      ...whole,
      async listContracts(filter, given) {
        clock.advance(-47 * hours);
        return await whole.listContracts(filter, given);
      },
    };
    await runNextJob(contextOf(incident, setBack), activeListJob, 'acme', signal);
    expect(await incident.engine.rows('contract')).toEqual([]);
  });
});
