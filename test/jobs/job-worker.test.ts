import { once } from 'node:events';
import { expect, it } from 'vitest';
import type { Context } from '../../src/context.ts';
import { type Database, inTransaction } from '../../src/db/database.ts';
import { AppError } from '../../src/domain/errors.ts';
import type { JobHold, JobKey, JobKind } from '../../src/jobs/job.ts';
import { claimJob, dropJobsOf, hurryJobs, listFailingJobs, wantJobs } from '../../src/jobs/job-store.ts';
import { createJobWorker, runNextJob } from '../../src/jobs/job-worker.ts';
import { instantIn, toInstant } from '../../src/lib/clock.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { createEngine, type Engine, startLoops } from '../support/engine-harness.ts';
import { until } from '../support/until.ts';
import { watchQueries } from '../support/watch-queries.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const leaseMs = minuteMs;
const name = 'payments';
const { signal } = new AbortController();

function kindOf(run: JobKind['run'], changes: Partial<JobKind> = {}): JobKind {
  return { name, atOnce: 2, leaseMs, run, ...changes };
}

async function want({ database, clock }: Context, jobs: readonly JobKey[]): Promise<void> {
  await inTransaction(database, (tx) => wantJobs(tx, name, jobs, toInstant(clock.now())));
}

function keysOf(install: string, count: number): JobKey[] {
  return Array.from({ length: count }, (_, index) => ({ key: `${install} ${index}`, install }));
}

/** Jobs that end when the test says so, run by as many instances as it starts. */
function openInstances(database: Database, changes: Partial<JobKind> = {}) {
  const engine = createEngine(database);
  const begun: string[] = [];
  const underway = new Map<string, { hold: JobHold; end(): void }>();
  const kind = kindOf(async (_ctx, { key }, ending, hold) => {
    const ended = new AbortController();
    begun.push(key);
    underway.set(key, { hold, end: () => ended.abort() });
    await once(AbortSignal.any([ended.signal, ending]), 'abort');
    underway.delete(key);
    ending.throwIfAborted();
    return null;
  }, changes);
  const start = () => {
    const loop = createJobWorker({ ...engine, pollMs: 5 }, [kind]);
    startLoops(loop);
    return loop;
  };
  const untilBegun = (count: number) => until(`${count} are begun`, () => begun.length >= count, Boolean);
  const end = async (key: string) => {
    await until(`${key} is underway`, () => underway.has(key), Boolean);
    underway.get(key)?.end();
  };
  return { engine, begun, underway, start, untilBegun, end };
}

async function runAll(engine: Engine, kind: JobKind, install: string): Promise<number> {
  let count = 0;
  while (await runNextJob(engine, kind, install, signal)) count += 1;
  return count;
}

describeEachDatabase('jobs', (openFresh) => {
  it('take turns: 200 of one install do not delay the one of another', async () => {
    const engine = createEngine(await openFresh());
    const done: string[] = [];
    const kind = kindOf(async (_ctx, { install }) => {
      done.push(install);
      return null;
    });
    await want(engine, keysOf('acme', 200));
    engine.clock.advance(1000);
    await want(engine, keysOf('globex', 1));
    startLoops(createJobWorker({ ...engine, pollMs: 5 }, [kind]));
    await until('nothing is left', async () => (await engine.rows('job')).length === 0, Boolean);
    expect(done).toHaveLength(201);
    expect(done.indexOf('globex')).toBeLessThan(50);
  });

  it('run once each, whichever of several instances runs them, and one of an install at a time', async () => {
    const { engine, begun, underway, start, untilBegun, end } = openInstances(await openFresh());
    await want(engine, [...keysOf('acme', 2), ...keysOf('globex', 1)]);
    start();
    await untilBegun(2);
    expect([...underway.keys()].sort()).toEqual(['acme 0', 'globex 0']);
    await end('acme 0');
    await untilBegun(3);
    start();
    for (const key of ['acme 1', 'globex 0']) await end(key);
    await until('nothing is left', async () => (await engine.rows('job')).length === 0, Boolean);
    expect(begun.toSorted()).toEqual(['acme 0', 'acme 1', 'globex 0']);
  });

  it('are left to others by an instance that stops', async () => {
    const { engine, start, untilBegun } = openInstances(await openFresh());
    await want(engine, keysOf('acme', 1));
    const first = start();
    await untilBegun(1);
    start();
    await first.stop();
    await untilBegun(2);
    expect(await engine.rows('job')).toMatchObject([{ attempts: 0, failure: null }]);
  });

  it('of a killed instance are taken over after the lease, and the former holder gets an error', async () => {
    const { engine, underway, start, untilBegun } = openInstances(await openFresh());
    const { clock } = engine;
    const claim = () =>
      claimJob(engine, name, 'acme', { now: toInstant(clock.now()), leasedUntil: instantIn(clock, leaseMs) });
    await want(engine, keysOf('acme', 1));
    expect(await claim()).not.toBeNull();
    await want(engine, keysOf('globex', 1));
    start();
    await untilBegun(1);
    expect([...underway.keys()]).toEqual(['globex 0']);
    clock.advance(leaseMs);
    await untilBegun(2);
    const taken = underway.get('acme 0');
    await taken?.hold.renew();
    clock.advance(leaseMs);
    expect(await claim()).not.toBeNull();
    await expect(taken?.hold.renew()).rejects.toThrow('another process holds it now');
    taken?.end();
    await until('it has ended', () => !underway.has('acme 0'), Boolean);
    expect((await engine.rows('job')).length).toBeGreaterThan(0);
  });

  it('that fail for an hour are tried less and less often, and are shown until they succeed', async () => {
    const engine = createEngine(await openFresh());
    let [tried, isDown] = [0, true];
    const kind = kindOf(async () => {
      tried += 1;
      if (isDown) throw new AppError('unavailable', 'it does not answer');
      return hourMs;
    });
    await want(engine, keysOf('acme', 1));
    const since = toInstant(engine.clock.now());
    for (let minute = 0; minute < 60; minute += 1) {
      await runAll(engine, kind, 'acme');
      engine.clock.advance(minuteMs);
    }
    expect(tried).toBeGreaterThan(4);
    expect(tried).toBeLessThan(40);
    const failing = { kind: name, install: 'acme', count: 1, since, failure: 'it does not answer', holdsOthers: false };
    expect(await listFailingJobs(engine, 3)).toEqual([failing]);
    isDown = false;
    engine.clock.advance(hourMs);
    expect(await runAll(engine, kind, 'acme')).toBe(1);
    expect(await listFailingJobs(engine, 1)).toEqual([]);
    expect(await engine.rows('job')).toMatchObject([{ attempts: 0, dueAt: instantIn(engine.clock, hourMs) }]);
  });

  it.each([
    ['asks to wait', new AppError('rate_limited', 'wait', { retryAfterMs: 2 * hourMs }), 2 * hourMs],
    ['refuses the token', new AppError('forbidden', 'no'), 15 * minuteMs],
  ])('of an install wait for one of them where the marketplace %s', async (_why, error, restMs) => {
    const engine = createEngine(await openFresh());
    const tried: string[] = [];
    let isDown = true;
    const kind = kindOf(
      async (_ctx, { key }) => {
        tried.push(key);
        if (isDown && key.startsWith('acme')) throw error;
        return null;
      },
      { restsTogether: true },
    );
    await want(engine, [...keysOf('acme', 3), ...keysOf('globex', 1)]);
    expect(await runAll(engine, kind, 'acme')).toBe(1);
    expect(await runAll(engine, kind, 'globex')).toBe(1);
    engine.clock.advance(restMs - 1);
    await want(engine, keysOf('acme', 3));
    expect(await runAll(engine, kind, 'acme')).toBe(0);
    engine.clock.advance(1);
    expect(await runAll(engine, kind, 'acme')).toBe(1);
    expect(await listFailingJobs(engine, 2)).toMatchObject([{ count: 1, holdsOthers: true }]);
    isDown = false;
    engine.clock.advance(restMs);
    expect(await runAll(engine, kind, 'acme')).toBe(3);
    expect(tried.slice(0, 4)).toEqual(['acme 0', 'globex 0', 'acme 0', 'acme 0']);
  });

  it('that are wanted while they run are run again', async () => {
    const engine = createEngine(await openFresh());
    const asked: number[] = [];
    const kind = kindOf(async (ctx, { asks, key, install }) => {
      asked.push(asks);
      if (asked.length < 3) await want(ctx, [{ key, install }]);
      return asked.length === 2 ? null : hourMs;
    });
    await want(engine, keysOf('acme', 1));
    expect(await runAll(engine, kind, 'acme')).toBe(3);
    expect(asked).toEqual([1, 1, 1]);
  });

  it('that fail run at once when wanted, but not when hurried', async () => {
    const engine = createEngine(await openFresh());
    const { database, clock } = engine;
    const hurry = () => inTransaction(database, (tx) => hurryJobs(tx, name, ['acme'], toInstant(clock.now())));
    let isDown = false;
    const kind = kindOf(async () => {
      if (isDown) throw new AppError('conflict', 'no');
      return hourMs;
    });
    const job = { key: 'acme', install: 'acme' };
    await hurry();
    expect(await runAll(engine, kind, 'acme')).toBe(0);
    await want(engine, [job]);
    expect(await runAll(engine, kind, 'acme')).toBe(1);
    isDown = true;
    await hurry();
    const least = { ...kind, restMs: () => minuteMs };
    expect(await runAll(engine, least, 'acme')).toBe(1);
    await hurry();
    expect(await runAll(engine, least, 'acme')).toBe(0);
    await want(engine, [job]);
    expect(await runAll(engine, least, 'acme')).toBe(1);
  });

  it('that are standing are added for new installs, and rest for removed ones', async () => {
    const engine = createEngine(await openFresh());
    const installs = new Set(['acme']);
    const done: string[] = [];
    const kind = kindOf(
      async (_ctx, { install }) => {
        done.push(install);
        return hourMs;
      },
      { isStanding: true, installs: () => installs },
    );
    startLoops(createJobWorker({ ...engine, pollMs: 5 }, [kind]));
    const untilDone = (count: number) =>
      until(
        `${count} are done`,
        () => done.length,
        (seen) => seen === count,
      );
    await untilDone(1);
    installs.add('globex');
    await untilDone(2);
    installs.delete('acme');
    engine.clock.advance(hourMs);
    await untilDone(3);
    // It is removed, and connected again at once.
    await inTransaction(engine.database, (tx) => dropJobsOf(tx, 'globex'));
    engine.clock.advance(minuteMs);
    await untilDone(4);
    expect(done).toEqual(['acme', 'globex', 'globex', 'globex']);
  });

  it('are looked for by one query, which writes nothing', async () => {
    const database = await openFresh();
    const seen: string[] = [];
    const watchers = new Proxy({}, { get: (_watchers, query: string) => () => void seen.push(query) });
    const engine = createEngine(watchQueries(database, watchers));
    const kinds = ([name, 'feed', 'budget'] as const).map((one) => kindOf(async () => hourMs, { name: one }));
    const loop = createJobWorker({ ...engine, pollMs: hourMs }, kinds);
    startLoops(loop);
    await until('it has looked', () => seen.length > 0, Boolean);
    loop.wake();
    await until('it has looked again', () => seen.length > 1, Boolean);
    expect(seen).toEqual(['select job', 'select job']);
  });

  it('make the loop unhealthy while one hangs', async () => {
    const { engine, underway, start, untilBegun, end } = openInstances(await openFresh());
    await want(engine, [...keysOf('acme', 1), ...keysOf('globex', 1)]);
    const loop = start();
    await untilBegun(2);
    engine.clock.advance(leaseMs - 1);
    underway.get('acme 0')?.hold.beat();
    await until('it is healthy', loop.isHealthy, Boolean);
    engine.clock.advance(1);
    expect([loop.isHealthy(), loop.name]).toEqual([false, 'jobs (payments)']);
    await end('globex 0');
    await until('it is healthy again', loop.isHealthy, Boolean);
  });
});
