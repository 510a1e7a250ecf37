import { once } from 'node:events';
import { beforeEach, expect, it } from 'vitest';
import { budgetJob, sweepContracts, sweepJob } from '../../../src/budget/budget-job.ts';
import type { Row } from '../../../src/db/schema.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { listFailingJobs } from '../../../src/jobs/job-store.ts';
import { createJobWorker } from '../../../src/jobs/job-worker.ts';
import type { Source } from '../../../src/marketplace/source.ts';
import { type BudgetWorld, openBudgetWorld } from '../../support/budget-world.ts';
import { startLoops } from '../../support/engine-harness.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

describeAnyDatabase('the budget of a contract', (openFresh) => {
  let world: BudgetWorld;
  let link: string;

  beforeEach(async () => {
    world = await openBudgetWorld(await openFresh());
    link = await world.market.link('signs');
  });

  const pass = (ms: number) => world.engine.clock.advance(ms);

  /** The contracts that are asked about next. */
  async function asked(): Promise<string[]> {
    world.front.meddle();
    await world.look();
    return world.front.asked().map((path) => path.split('/')[2] ?? '');
  }

  it('is read when the contract begins, and then once a day', async () => {
    const id = await world.hire(10);
    await world.work(id, 2);
    expect(await asked()).toEqual([id]);
    expect(await world.rows()).toMatchObject([
      {
        install: 'acme',
        contractId: id,
        state: 'ok',
        paymentType: 'PAY_PER_HOUR',
        fundedVolume: 10,
        consumedVolume: 2,
        remainingVolume: 8,
        consumedFraction: 0.2,
        consumedSeconds: 7200,
        consumedLabels: 0,
        consumedTasks: 0,
        fundedAmountUsd: 200,
        askedAt: '2026-03-15T12:00:00.000Z',
        nextReadAt: '2026-03-16T12:00:00.000Z',
        stateSince: '2026-03-15T12:00:00.000Z',
        notifiedState: null,
        failure: null,
      },
    ]);
    expect(await asked()).toEqual([]);
    pass(dayMs - 1);
    expect(await asked()).toEqual([]);
    pass(1);
    expect(await asked()).toEqual([id]);
    expect(await world.noticed()).toEqual([]);
  });

  it('is read hourly while it is low, and announced once', async () => {
    const id = await world.hire(10);
    await world.work(id, 8);
    expect(await asked()).toEqual([id]);
    pass(hourMs - 1);
    expect(await asked()).toEqual([]);
    pass(1);
    expect(await asked()).toEqual([id]);
    await world.work(id, 10);
    pass(hourMs);
    expect(await asked()).toEqual([id]);
    pass(hourMs);
    expect(await asked()).toEqual([id]);
    expect(await world.noticed()).toEqual(['budget.low', 'budget.depleted']);
    expect((await world.notices())[1]).toEqual({
      kind: 'budget.depleted',
      install: 'acme',
      contractId: id,
      isRepeat: false,
      occurredAt: '2026-03-15T14:00:00.000Z',
      budget: { fundedVolume: 10, fundedAmountUsd: 200, consumedVolume: 10, remainingVolume: 0, consumedFraction: 1 },
    });
  });

  it('is read after an event about it, and the event itself is not trusted', async () => {
    const id = await world.hire();
    await asked();
    pass(minuteMs);
    await world.tellOf(id);
    expect(await asked()).toEqual([id]);
    expect(await world.rows()).toMatchObject([{ state: 'ok', consumedFraction: 0 }]);
    await world.tellOf(id);
    await world.tellOf(id, '2026-03-15T12:00:00.000Z');
    expect(await asked()).toEqual([]);
    expect(await world.noticed()).toEqual([]);
  });

  it('is read again if an event came in during the reading', async () => {
    const id = await world.hire();
    world.front.meddle(async () => {
      world.front.meddle();
      pass(minuteMs);
      await world.tellOf(id);
      await sweepContracts(world.open());
      return undefined;
    });
    await world.look();
    expect(world.front.asked()).toHaveLength(1);
    expect(await asked()).toEqual([]);
    const [row] = await world.rows();
    expect(row?.askedAt).toBe('2026-03-15T12:01:00.000Z');
  });

  it('is not read after the contract ended, and is read if the contract turns out to go on', async () => {
    const [ended, other] = [await world.hire(), await world.hire()];
    await asked();
    world.market.sandbox.endContract(ended);
    await world.learn();
    pass(dayMs);
    expect(await asked()).toEqual([other]);
    const rows = await world.rows();
    expect(rows.find((row) => row.contractId === ended)?.nextReadAt).toBeNull();
  });

  it('is not read while the contract is not linked, and is read once it is again', async () => {
    const id = await world.hire();
    await asked();
    world.market.sandbox.removeLink(link);
    await world.engine.apply([fullEvent({ type: 'project_link.removed', link, project: 'signs' })]);
    pass(dayMs);
    expect(await asked()).toEqual([]);
    await world.market.link('signs anew');
    await world.learn();
    expect(await asked()).toEqual([id]);
  });

  it('is not read while the grant is revoked', async () => {
    await world.hire();
    const grantId = world.market.installId;
    const createdAt = '2026-03-15T12:00:01.000Z';
    pass(minuteMs);
    await world.engine.apply([
      JSON.stringify({
        id: '9',
        type: 'install.revoked',
        createdAt,
        resourceId: grantId,
        data: {},
      }),
    ]);
    expect(await asked()).toEqual([]);
  });

  it('is read again tomorrow if it was not found, or when there is evidence of it', async () => {
    const id = await world.hire();
    const notFound = { status: 404, body: { error: 'no', code: 'NOT_FOUND' } };
    world.front.meddle(() => notFound);
    await world.look();
    expect(await world.rows()).toMatchObject([{ state: null, failure: expect.stringContaining('no such contract') }]);
    pass(dayMs - minuteMs);
    expect(await asked()).toEqual([]);
    pass(minuteMs);
    world.front.meddle(() => notFound);
    await world.look();
    expect(world.front.asked()).toHaveLength(1);
    pass(minuteMs);
    await world.learn();
    expect(await asked()).toEqual([id]);
    expect(await world.rows()).toMatchObject([{ state: 'ok', failure: null, notFoundAt: null }]);
  });

  it.each([
    [401, 'UNAUTHORIZED'],
    [403, 'FORBIDDEN'],
  ])('waits with all others of the install if the token is refused: %i', async (status, code) => {
    const ids = [await world.hire(), await world.hire()].sort();
    world.front.meddle(() => ({ status, body: { error: 'no', code } }));
    await world.look();
    expect(world.front.asked()).toHaveLength(1);
    const failing = (await world.engine.rows('job')).filter((job) => (job as Row<'job'>).failure !== null);
    expect(failing).toMatchObject([{ failure: expect.stringContaining('read the budget'), holdsOthers: true }]);
    pass(15 * minuteMs - 1);
    expect(await asked()).toEqual([]);
    pass(1);
    expect((await asked()).sort()).toEqual(ids);
    expect(await listFailingJobs(world.engine, 1)).toEqual([]);
    expect(await world.noticed()).toEqual([]);
  });

  it.each([
    [429, 'RATE_LIMITED'],
    [503, 'INTERNAL_ERROR'],
  ])('waits as long as the marketplace asks: %i', async (status, code) => {
    const id = await world.hire();
    const headers = { 'retry-after': '60' };
    world.front.meddle(() => ({ status, headers, body: { error: 'later', code } }));
    await world.look();
    expect(world.front.asked()).toHaveLength(1);
    pass(minuteMs - 1);
    expect(await asked()).toEqual([]);
    pass(1);
    // As after a restart: the client waits by the real clock.
    world.front.meddle();
    await world.look(world.open());
    expect(world.front.asked()).toEqual([`/contracts/${id}/budget`]);
  });

  it('does not hold up others by an invalid answer', async () => {
    const ids = [await world.hire(), await world.hire()].sort();
    world.front.meddle(({ path }) => (path.includes(ids[0] ?? '') ? { body: [] } : undefined));
    await world.look();
    expect(world.front.asked()).toHaveLength(2);
    expect(await world.rows()).toMatchObject([
      { contractId: ids[0], state: null, failure: expect.any(String) },
      { contractId: ids[1], state: 'ok', failure: null },
    ]);
    pass(hourMs);
    expect(await asked()).toEqual([ids[0]]);
  });

  it('is read by one of several instances, with one request of an install at a time', async () => {
    const ids = [];
    for (let count = 0; count < 8; count += 1) ids.push(await world.hire());
    let [underWay, most] = [0, 0];
    world.front.meddle(async ({ answer }) => {
      underWay += 1;
      most = Math.max(most, underWay);
      const body = await answer();
      underWay -= 1;
      return { body };
    });
    const instances = [world.open(), world.open(), world.open()];
    startLoops(...instances.map((ctx) => createJobWorker(ctx, [sweepJob, budgetJob])));
    const known = async () => (await world.rows()).filter(({ state }) => state === 'ok').length;
    await until('all are read', known, (count) => count === ids.length);
    const paths = world.front.asked();
    expect(paths.sort()).toEqual(ids.map((id) => `/contracts/${id}/budget`).sort());
    expect(most).toBe(1);
  });

  it('is read while another install does not answer, which is asked again after a restart', async () => {
    const id = await world.hire();
    await world.engine.apply([fullEvent({ type: 'contract.started' })], 'globex');
    const { sources } = world.open();
    let hanging = 0;
    const readBudget = async (_id: string, signal: AbortSignal) => {
      hanging += 1;
      await once(signal, 'abort');
      throw new AppError('unavailable', 'stopped');
    };
    const apis = new Map([['globex', { ...(sources.get('acme') as Source), readBudget }], ...sources]);
    const worker = createJobWorker(world.open({ sources: apis }), [sweepJob, budgetJob]);
    worker.start();
    const isRead = async () => (await world.rows()).some(({ state }) => state === 'ok');
    await until('the other install is read', isRead, (read) => read && hanging === 1);
    await worker.stop();
    expect(await world.rows()).toMatchObject([
      { install: 'globex', contractId: 'cmc1', state: null, failure: null },
      { install: 'acme', contractId: id, state: 'ok' },
    ]);
    expect(new Set((await world.engine.rows('job')).map((job) => (job as Row<'job'>).leaseToken))).toEqual(
      new Set([null]),
    );
    expect(await listFailingJobs(world.engine, 1)).toEqual([]);
  });

  it('is found among more contracts than fit on a page', async () => {
    const { kysely } = world.engine.database;
    await world.hire();
    const [contract] = await kysely.selectFrom('contract').selectAll().execute();
    const [pair] = await kysely.selectFrom('contractLink').selectAll().execute();
    if (contract === undefined || pair === undefined) throw new Error('nothing is known');
    for (let begin = 0; begin < 1200; begin += 200) {
      const ids = Array.from({ length: 200 }, (_, index) => `x${begin + index}`);
      const contracts = ids.map((contractId) => ({ ...contract, contractId }));
      const pairs = ids.map((contractId) => ({ ...pair, contractId }));
      await kysely.insertInto('contract').values(contracts).execute();
      await kysely.insertInto('contractLink').values(pairs).execute();
    }
    const ctx = world.open({ sources: new Map() });
    await world.look(ctx);
    expect(await world.rows()).toHaveLength(1201);
    await kysely.updateTable('contract').set({ endedEventAt: '2026-03-15T12:30:00.000Z' }).execute();
    await world.look(ctx);
    const due = (await world.rows()).filter(({ nextReadAt }) => nextReadAt !== null);
    expect(due).toEqual([]);
  });
});
