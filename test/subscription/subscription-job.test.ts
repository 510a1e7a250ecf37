import { once } from 'node:events';
import { beforeEach, expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import type { Install } from '../../src/domain/install.ts';
import { createJobWorker } from '../../src/jobs/job-worker.ts';
import { noteUnmatched, subscriptionJob } from '../../src/subscription/subscription-job.ts';
import { beginCreatingEndpoint } from '../../src/subscription/subscription-store.ts';
import { openSandbox } from '../support/either-market.ts';
import { inStudio, startLoops } from '../support/engine-harness.ts';
import { openSubscriptionWorld, type SubscriptionWorld } from '../support/subscription-world.ts';
import { describeAnyDatabase } from '../support/tries.ts';
import { until } from '../support/until.ts';

/** The default of the configuration. */
const everyMs = 300_000;

describeAnyDatabase('the watch', (openFresh) => {
  let database: Database;
  let world: SubscriptionWorld;
  let looks: string[];
  let installs: Map<string, Install>;

  beforeEach(async () => {
    database = await openFresh();
    world = await openSubscriptionWorld(openSandbox, database);
    looks = [];
    installs = new Map([['acme', inStudio()]]);
  });

  /** Instances of their own, which share a database and a marketplace. */
  function createWatch() {
    const { api, ctx } = world;
    const sources = new Map(
      ['acme', 'globex'].map((install) => {
        const listEndpoints: typeof api.listEndpoints = async (signal) => {
          looks.push(install);
          return await api.listEndpoints(signal);
        };
        return [install, { ...api, listEndpoints }];
      }),
    );
    return createJobWorker({ ...ctx, sources, installs }, [subscriptionJob]);
  }

  const untilLookedAt = (...expected: string[]) =>
    until(
      `looked at ${expected.join(', ')}`,
      async () => ({ looks: [...looks].sort(), busy: await busy() }),
      (seen) => seen.busy === 0 && seen.looks.join() === expected.join(),
    );

  async function busy(): Promise<number> {
    const now = world.clock.now().toISOString();
    const rows = await database.kysely.selectFrom('job').select('key').where('dueAt', '<=', now).execute();
    return rows.length;
  }

  it('checks at the start, regularly, and when an install is connected', async () => {
    const watch = createWatch();
    startLoops(watch);
    await untilLookedAt('acme');
    world.clock.advance(everyMs - 1);
    installs.set('globex', inStudio());
    watch.wake();
    await untilLookedAt('acme', 'globex');
    world.clock.advance(1);
    watch.wake();
    await untilLookedAt('acme', 'acme', 'globex');
  });

  it('leaves an unfinished check to others when it is stopped', async () => {
    const { api, ctx } = world;
    const asked = new AbortController();
    const listEndpoints: typeof api.listEndpoints = (signal) => {
      asked.abort();
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    };
    const sources = new Map([['acme', { ...api, listEndpoints }]]);
    const watch = createJobWorker({ ...ctx, sources, installs }, [subscriptionJob]);
    watch.start();
    await once(asked.signal, 'abort');
    await watch.stop();
    expect(await busy()).toBe(1);
    expect(await world.check()).toBe(true);
  });

  it('notes that no secret matched, for existing installs only', async () => {
    const ctx = { ...world.ctx, installs };
    noteUnmatched(ctx, 'acme');
    noteUnmatched(ctx, 'unknown');
    const unmatchedAt = world.clock.now().toISOString();
    await until(
      'it is noted',
      () => world.record(),
      (record) => record.unmatchedAt === unmatchedAt,
    );
    const rows = await database.kysely.selectFrom('subscription').select('install').execute();
    expect(rows).toEqual([{ install: 'acme' }]);
  });

  it('creates no second endpoint when a list is empty by mistake', async () => {
    const { ctx, api, market } = world;
    await beginCreatingEndpoint(ctx, 'acme', world.clock.now().toISOString());
    await world.check();
    const control = new URL('/sandbox/faults', market.baseUrl);
    const empty = { probability: 1, operations: ['GET /webhook-endpoints'] };
    const body = JSON.stringify({ faults: { empty } });
    expect(await fetch(control, { method: 'POST', body })).toMatchObject({ status: 200 });
    const { signal } = new AbortController();
    expect(await api.listEndpoints(signal)).toEqual([]);
    await world.check();
    expect(await world.record()).toMatchObject({ trouble: null });
    await fetch(control, { method: 'POST', body: JSON.stringify({ faults: {} }) });
    expect(await world.endpoints()).toHaveLength(1);
  });
});
