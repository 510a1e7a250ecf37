import { beforeEach, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { createJobWorker } from '../../../src/jobs/job-worker.ts';
import { toInstant } from '../../../src/lib/clock.ts';
import type { Loop } from '../../../src/lib/loop.ts';
import { createPlatformSource } from '../../../src/marketplace/platform/create-platform-source.ts';
import type { Source, SourceReader } from '../../../src/marketplace/source.ts';
import { contractJob } from '../../../src/reconcile/read/contract-job.ts';
import { openWorld, type World } from '../../sandbox/sandbox-harness.ts';
import { createEngine, type Engine } from '../../support/engine-harness.ts';
import { fullEvent, minimalEvent } from '../../support/event-bodies.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const hourMs = 3_600_000;

describeAnyDatabase('what events leave out', (openFresh) => {
  let engine: Engine;
  let world: World;
  let api: SourceReader;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
    world = await openWorld({ payloads: 'minimal' });
    api = createPlatformSource({ baseUrl: world.baseUrl, token: world.token });
  });

  function createWorker(source: SourceReader = api): Loop {
    return createJobWorker({ ...engine, sources: new Map([['acme', source as Source]]) }, [contractJob]);
  }

  /** Asks until nothing is due now. */
  async function readDue(source?: SourceReader): Promise<void> {
    const worker = createWorker(source);
    worker.start();
    const isBusy = async () => {
      const jobs = await engine.database.kysely.selectFrom('job').selectAll().execute();
      // After that look: what was asked for in between is not due in a time before it.
      const now = toInstant(engine.clock.now());
      return jobs.some((job) => job.leasedUntil !== null || job.dueAt <= now);
    };
    try {
      await until('everything is asked for', isBusy, (busy) => !busy);
    } finally {
      await worker.stop();
    }
  }

  const requests = () => engine.database.kysely.selectFrom('readRequest').selectAll().orderBy('contractId').execute();

  async function takeIn(...bodies: string[]): Promise<void> {
    await engine.deliver(bodies);
    await engine.takeIn();
  }

  /** Hires a trainer for the linked job, and delivers what little the event says. */
  async function hire(wanted: object = {}) {
    const hired = world.sandbox.hire({ jobId: world.jobId, ...wanted });
    await takeIn(minimalEvent('contract.started', hired.contractId));
    return { ...hired, ids: hired.trainers.map((one) => one.opentrainUserId).sort() };
  }

  async function evidence() {
    const tables = ['contract', 'link', 'contractLink', 'participation', 'person'] as const;
    return await Promise.all(tables.map((table) => engine.rows(table)));
  }

  /** The same marketplace with one operation that fails. */
  function failing(operation: keyof SourceReader, error: AppError): SourceReader {
    return { ...api, [operation]: () => Promise.reject(error) };
  }

  it('is read: the project, the people and their addresses', async () => {
    await world.link('street-signs');
    const { ids } = await hire({ trainers: [{}, {}] });
    expect(await engine.membershipRows()).toEqual([]);
    let due = 0;
    engine.wake = () => {
      due += 1;
    };
    await readDue();
    const rows = await engine.membershipRows();
    expect(rows.map(({ trainerId }) => trainerId).sort()).toEqual(ids);
    expect(rows).toMatchObject([
      { groupId: 'street-signs', state: 'pending' },
      { groupId: 'street-signs', state: 'pending' },
    ]);
    expect(await requests()).toEqual([]);
    expect(due).toBe(1);
  });

  it('is read for several contracts at once, each with its own people', async () => {
    await world.link('street-signs');
    const one = await hire();
    const two = await hire();
    await readDue();
    const participations = await engine.rows('participation');
    expect(participations).toHaveLength(2);
    expect(participations).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ contractId: one.contractId, trainerId: one.ids[0] }),
        expect.objectContaining({ contractId: two.contractId, trainerId: two.ids[0] }),
      ]),
    );
  });

  it('is not asked for once the contract has ended', async () => {
    await world.link('street-signs');
    const { contractId } = await hire();
    await takeIn(minimalEvent('contract.ended', contractId));
    const never = () => Promise.reject(new Error('was asked'));
    await readDue({
      readGrant: never,
      readLink: never,
      listLinks: never,
      listContracts: never,
      listParticipants: never,
    });
    expect(await requests()).toEqual([]);
    expect(engine.log.text()).not.toContain('was asked');
  });

  it('is answered by learning that the contract has ended', async () => {
    await world.link('street-signs');
    const { contractId } = await hire();
    world.sandbox.endContract(contractId);
    await readDue();
    expect(await requests()).toEqual([]);
    expect(await engine.rows('contract')).toMatchObject([{ endedReadAt: toInstant(engine.clock.now()) }]);
    expect((await engine.membershipRows()).filter(({ wanted }) => wanted)).toEqual([]);
  });

  it('is asked for again until there is an address', async () => {
    world.sandbox.setPiiConsent(world.installId, false);
    await world.link('street-signs');
    await hire();
    await readDue();
    expect(await engine.membershipRows()).toMatchObject([{ state: 'waiting_email' }]);
    expect(await requests()).toMatchObject([{ attempts: 1 }]);

    world.sandbox.setPiiConsent(world.installId, true);
    engine.clock.advance(hourMs);
    await readDue();
    expect(await engine.membershipRows()).toMatchObject([{ state: 'pending' }]);
    expect(await requests()).toEqual([]);
  });

  it('is asked for again until there is a trainer, and a project', async () => {
    const { contractId, ids } = await hire();
    await world.link('street-signs');
    world.sandbox.replaceParticipant(contractId, { leaves: ids[0] ?? '' });
    await readDue();
    expect(await requests()).toMatchObject([{ contractId }]);
    expect(await engine.membershipRows()).toEqual([]);
  });

  it('is asked for less and less often while the marketplace is down', async () => {
    await world.link('street-signs');
    await hire();
    const down = failing('listLinks', new AppError('unavailable', 'no answer'));
    let attempts = 0;
    for (let round = 0; round < 15; round += 1) {
      await readDue(down);
      const [request] = await requests();
      const wait = Date.parse(request?.nextAttemptAt ?? '') - engine.clock.now().getTime();
      expect(request?.attempts).toBeGreaterThan(attempts);
      attempts = request?.attempts ?? 0;
      expect(wait).toBeLessThanOrEqual(Math.min(1000 * 2 ** attempts, hourMs));
      engine.clock.advance(Math.max(wait, 0));
    }
    engine.clock.advance(hourMs);
    await readDue();
    expect(await requests()).toEqual([]);
    expect(await engine.membershipRows()).toMatchObject([{ state: 'pending' }]);
  });

  it('is put off as long as the marketplace asks', async () => {
    await hire();
    const busy = new AppError('rate_limited', '429', { status: 429, retryAfterMs: 90_000 });
    await readDue(failing('listContracts', busy));
    const inNinetySeconds = new Date(engine.clock.now().getTime() + 90_000).toISOString();
    expect(await requests()).toMatchObject([{ attempts: 1, nextAttemptAt: inNinetySeconds }]);
  });

  it('changes nothing where any part of it could not be read', async () => {
    await world.link('street-signs');
    await hire();
    await takeIn(fullEvent({ type: 'contract.started' }));
    const before = [await evidence(), await engine.membershipRows()];
    for (const operation of ['listLinks', 'listContracts', 'listParticipants'] as const) {
      for (const code of ['unauthenticated', 'forbidden', 'invalid', 'unavailable'] as const) {
        await readDue(failing(operation, new AppError(code, 'no')));
        engine.clock.advance(hourMs);
      }
    }
    expect([await evidence(), await engine.membershipRows()]).toEqual(before);
    expect(await requests()).toMatchObject([{ attempts: expect.any(Number) }]);
  });

  it('removes no trainer when the token is refused or the contract is in no list', async () => {
    const linkId = await world.link('street-signs');
    await hire();
    await readDue();
    const before = await engine.membershipRows();
    await world.api('DELETE', `/project-links/${linkId}`);
    await takeIn(minimalEvent('contract.started', 'unheard-of'));
    await readDue();
    world.sandbox.revokeToken(world.installId);
    engine.clock.advance(hourMs);
    await readDue();
    expect(await engine.membershipRows()).toEqual(before);
    expect(await requests()).toMatchObject([{ contractId: 'unheard-of' }]);
  });

  it('is asked for again at once if it is wanted again meanwhile', async () => {
    await world.link('street-signs');
    const { contractId } = await hire();
    let hasWishedAgain = false;
    const listLinks: SourceReader['listLinks'] = async (signal) => {
      if (!hasWishedAgain) {
        hasWishedAgain = true;
        engine.clock.advance(1000);
        await takeIn(`${minimalEvent('contract.started', contractId)} `);
      }
      return await api.listLinks(signal);
    };
    let asked = 0;
    const counted: SourceReader = {
      ...api,
      listLinks,
      listParticipants(id, signal) {
        asked += 1;
        return api.listParticipants(id, signal);
      },
    };
    await readDue(counted);
    expect(asked).toBe(2);
    expect(await requests()).toEqual([]);
  });

  it('of an install that is no longer configured waits', async () => {
    await engine.deliver([minimalEvent('contract.started', 'c1')], 'gone');
    await engine.takeIn();
    await readDue();
    expect(await requests()).toMatchObject([{ install: 'gone', attempts: 1 }]);
    expect(engine.log.text()).toContain('The install gone is not configured');
  });

  it('is counted and logged without a token or an address', async () => {
    await world.link('street-signs');
    await hire();
    await readDue(failing('listContracts', new AppError('unavailable', 'a@opentrain.work said no')));
    engine.clock.advance(hourMs);
    await readDue();
    const { values } = await engine.metrics.marketplaceReads.get();
    const counts = values.map(({ labels, value }) => [labels.outcome, value]);
    expect(counts).toContainEqual(['read', 1]);
    expect(counts.find(([outcome]) => outcome === 'failed')?.[1]).toBeGreaterThanOrEqual(1);
    expect(engine.log.text()).not.toMatch(/ot_ptk_\w|\w\w@opentrain/);
  });
});
