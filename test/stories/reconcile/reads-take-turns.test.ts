import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { requestReads, takeReads } from '../../../src/evidence/read-request-store.ts';
import { createJobWorker } from '../../../src/jobs/job-worker.ts';
import { toInstant } from '../../../src/lib/clock.ts';
import type { Source, SourceReader } from '../../../src/marketplace/source.ts';
import { contractJob } from '../../../src/reconcile/read/contract-job.ts';
import { findInstallState, wantRead } from '../../../src/reconcile/read/install-state-store.ts';
import { reconcileJob } from '../../../src/reconcile/runs/reconcile-install.ts';
import { createEngine, type Engine, startLoops } from '../../support/engine-harness.ts';
import { minimalEvent } from '../../support/event-bodies.ts';
import { createIncident, toApi } from '../../support/incident.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const crowd = 600;

/** A customer's marketplace, and what it was asked for, each as `install contract`. */
function watched(install: string, asked: string[], before: () => Promise<void>): Source {
  const contract = `of-${install}`;
  const api = toApi({
    links: { [`${install}-link`]: `${install}-signs` },
    active: { [contract]: { links: [`${install}-link`], people: [`${install}-trainer`] } },
  });
  const reader: SourceReader = {
    ...api,
    async listLinks(signal) {
      asked.push(`${install} links`);
      await before();
      return await api.listLinks(signal);
    },
    async listParticipants(id, signal) {
      asked.push(`${install} ${id}`);
      return await api.listParticipants(id, signal);
    },
  };
  return { clockDriftMs: () => undefined, ...reader } as Source;
}

const atOnce = async () => undefined;

describeAnyDatabase('installs take turns at reading contracts', (openFresh) => {
  let engine: Engine;
  let asked: string[];

  beforeEach(async () => {
    engine = createEngine(await openFresh());
    asked = [];
  });

  async function want(install: string, contracts: string[]): Promise<void> {
    await engine.deliver(
      contracts.map((contract) => minimalEvent('contract.started', contract)),
      install,
    );
    await engine.takeIn();
  }

  async function wantCrowd(): Promise<void> {
    const now = toInstant(engine.clock.now());
    const contracts = Array.from({ length: crowd }, (_, number) => `forged-${number}`);
    const wanted = contracts.map((contractId) => ({ install: 'acme', contractId }));
    await inTransaction(engine.database, (tx) => requestReads(tx, wanted, now));
  }

  const requestsOf = async (install: string) => {
    const rows = engine.database.kysely.selectFrom('readRequest').selectAll();
    return await rows.where('install', '=', install).execute();
  };

  async function untilRead(install: string): Promise<void> {
    await until(`${install} is read`, async () => (await requestsOf(install)).length === 0, Boolean);
  }

  it('600 contracts of one that hang do not delay one of another', async () => {
    await wantCrowd();
    await want('globex', ['of-globex']);
    const { promise: hanging, resolve: letGo } = Promise.withResolvers<void>();
    const sources = new Map([
      ['acme', watched('acme', asked, () => hanging)],
      ['globex', watched('globex', asked, atOnce)],
    ]);
    startLoops(createJobWorker({ ...engine, sources }, [contractJob]));
    onTestFinished(() => letGo());
    await untilRead('globex');
    // The jobs of the two are claimed at the same time, in either order.
    expect(asked.toSorted()).toEqual(['acme links', 'globex links', 'globex of-globex']);
    expect(await engine.membershipRows()).toMatchObject([{ trainerId: 'globex-trainer' }]);
  });

  it('nor do those of one whose marketplace fails', async () => {
    await wantCrowd();
    await want('globex', ['of-globex']);
    const fail = () => Promise.reject(new AppError('unavailable', 'no answer'));
    const sources = new Map([
      ['acme', watched('acme', asked, fail)],
      ['globex', watched('globex', asked, atOnce)],
    ]);
    startLoops(createJobWorker({ ...engine, sources }, [contractJob]));
    await untilRead('globex');
    expect(asked.indexOf('globex links')).toBeLessThanOrEqual(2);
  });

  it('each has one read under way at a time, in the order of asking', async () => {
    for (const contract of ['z', 'm', 'a']) {
      await want('acme', [`${contract}-0`]);
      engine.clock.advance(1000);
    }
    const { promise: hanging, resolve: letGo } = Promise.withResolvers<void>();
    const sources = new Map([['acme', watched('acme', asked, () => hanging)]]);
    const worker = createJobWorker({ ...engine, sources }, [contractJob]);
    startLoops(worker);
    onTestFinished(() => letGo());
    await until('it has begun', () => asked.length === 1, Boolean);
    await want('acme', ['later']);
    worker.wake();
    await want('globex', ['of-globex']);
    await until(
      'the other was looked at',
      () => requestsOf('globex'),
      ([row]) => row !== undefined && row.attempts > 0,
    );
    expect(asked).toEqual(['acme links']);
    letGo();
    await until('all were asked for', () => asked.length >= 6, Boolean);
    expect(asked.slice(1, 4)).toEqual(['acme z-0', 'acme m-0', 'acme a-0']);
    expect(asked.slice(4, 6)).toEqual(['acme links', 'acme later']);
  });

  it('what has ended since is not asked for, however much of it there is', async () => {
    await wantCrowd();
    const now = toInstant(engine.clock.now());
    const [claimed] = await takeReads(engine, 'acme', now, 1);
    await engine.deliver([minimalEvent('contract.ended', claimed?.contractId ?? '')]);
    await engine.takeIn();
    const again = await takeReads(engine, 'acme', now, crowd);
    expect(again).toHaveLength(crowd - 1);
  });
});

describeAnyDatabase('installs are read side by side', (openFresh) => {
  it('one that hangs does not delay the whole read of another', async () => {
    const incident = createIncident(await openFresh());
    const { engine } = incident;
    const asked: string[] = [];
    const { promise: hanging, resolve: letGo } = Promise.withResolvers<void>();
    const sources = new Map([
      ['acme', watched('acme', asked, () => hanging)],
      ['globex', watched('globex', asked, atOnce)],
    ]);
    for (const install of ['acme', 'globex']) {
      const now = toInstant(engine.clock.now());
      await inTransaction(engine.database, (tx) => wantRead(tx, [install], now));
      engine.clock.advance(1000);
    }
    startLoops(createJobWorker({ ...engine, sources }, [reconcileJob]));
    onTestFinished(() => letGo());
    await until('the one has begun', () => asked.includes('acme links'), Boolean);
    await until(
      'the other is read',
      () => findInstallState(engine, 'globex'),
      (state) => state?.readBeganAt !== null,
    );
    expect(await findInstallState(engine, 'acme')).toMatchObject({ readBeganAt: null });
  });
});
