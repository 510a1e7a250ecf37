import { beforeEach, expect, it } from 'vitest';
import { convergeLeaseMs } from '../../src/converge/claim-store.ts';
import { AppError } from '../../src/domain/errors.ts';
import { countActive, createStudioWorker, hire, receiptsOf, untilActive } from '../support/converging.ts';
import { openForTest } from '../support/databases.ts';
import { createEngine, type Engine, startLoops } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createMemoryTool } from '../support/memory-tool.ts';
import { describeAnyDialect } from '../support/tries.ts';
import { until } from '../support/until.ts';
import { watchQueries } from '../support/watch-queries.ts';

describeAnyDialect('the worker of a tool', (dialect) => {
  let engine: Engine;
  let url: string;

  beforeEach(async () => {
    url = await dialect.createMigrated();
    engine = createEngine(openForTest(url));
  });

  it('works on as many memberships at once as configured, and never more', async () => {
    await hire(engine, 10);
    const tool = createMemoryTool();
    const worker = createStudioWorker(engine, tool, { concurrency: 3 });
    startLoops(worker);
    // A tool that keeps up is asked more and more.
    await untilActive(engine, 10);
    const gates: (() => void)[] = [];
    tool.before = () => new Promise((resolve) => gates.push(resolve));
    await hire(engine, 14, 11);
    worker.wake();
    await until('three calls are under way', () => gates.length === 3, Boolean);
    const openGates = setInterval(() => gates.shift()?.(), 2);
    await untilActive(engine, 24).finally(() => clearInterval(openGates));
    expect(tool.mostAtOnce()).toBe(3);
    expect(tool.members('street-signs')).toHaveLength(24);
  });

  it('measures the time to access and the time to lock-out once each, by install', async () => {
    const { clock, metrics } = engine;
    const body = (type: string) => fullEvent({ type, id: type });
    const measured = async (metric: typeof metrics.accessSeconds) => {
      const { values } = await metric.get();
      return values
        .filter(({ metricName }) => /_(sum|count)$/.test(metricName ?? ''))
        .map(({ metricName, labels, value }) => [metricName, labels.install, value]);
    };
    await engine.deliver([body('contract.started')], 'globex');
    clock.advance(40_000);
    await engine.takeIn();
    const worker = createStudioWorker(engine, createMemoryTool());
    startLoops(worker);
    await untilActive(engine, 1);
    await engine.deliver([body('contract.ended')], 'globex');
    clock.advance(7000);
    await engine.takeIn();
    await engine.brake();
    worker.wake();
    await until('they are out', async () => (await measured(metrics.lockoutSeconds)).length > 0, Boolean);
    expect(await measured(metrics.accessSeconds)).toEqual([
      ['gangway_access_seconds_sum', 'globex', 40],
      ['gangway_access_seconds_count', 'globex', 1],
    ]);
    expect(await measured(metrics.lockoutSeconds)).toEqual([
      ['gangway_lockout_seconds_sum', 'globex', 7],
      ['gangway_lockout_seconds_count', 'globex', 1],
    ]);
  });

  it('begins with one at a time, and halves the number when the tool does not answer', async () => {
    await hire(engine, 40);
    const tool = createMemoryTool();
    let underway = 0;
    const looks: number[] = [];
    tool.before = async (call) => {
      if (call !== 'find') return;
      looks.push(++underway);
      await new Promise((resolve) => setTimeout(resolve, 5));
      // It answers two at a time.
      if (underway-- > 2) throw new AppError('unavailable', 'The tool did not answer');
    };
    const worker = createStudioWorker(engine, tool);
    startLoops(worker);
    const look = async () => {
      const rows = await engine.membershipRows();
      const now = engine.clock.now().toISOString();
      const isWaiting = rows.every(({ nextAttemptAt }) => (nextAttemptAt ?? '9') > now);
      // A membership that failed is tried again when all others have had their turn.
      if (isWaiting && underway === 0) engine.clock.advance(2000);
      worker.wake();
      return await countActive(engine);
    };
    await until('all are members', look, (active) => active === 40);
    // The look and the read back of the first, before another one is looked for.
    expect(looks.slice(0, 2)).toEqual([1, 1]);
    expect(engine.log.lines()).toContainEqual(
      expect.objectContaining({ msg: expect.stringContaining('does not keep up'), tool: 'studio' }),
    );
    expect(tool.calls.filter((call) => call.startsWith('add '))).toHaveLength(40);
  });

  it.each([
    ['that was quick before', 30],
    ['from its first call on', 0],
  ])('let a customer whose projects hang hold up the removal of another, in a tool %s', async (_, warmUp) => {
    const zoe = { contract: 'zz', trainer: 'zoe', link: 'zz-link', project: 'zoo' };
    const tool = createMemoryTool();
    const worker = createStudioWorker(engine, tool, { isShared: true, timeoutMs: convergeLeaseMs / 2 });
    await engine.apply([fullEvent({ type: 'contract.started', ...zoe })], 'globex');
    startLoops(worker);
    await untilActive(engine, 1);
    await hire(engine, warmUp);
    worker.wake();
    await untilActive(engine, 1 + warmUp);
    let hanging = 0;
    tool.before = (_call, subject) => {
      if (!subject.startsWith('street-signs')) return;
      hanging += 1;
      return new Promise(() => {});
    };
    await hire(engine, 20, 101);
    worker.wake();
    await until('calls hang', () => hanging > 0, Boolean);
    await engine.apply([fullEvent({ type: 'contract.ended', ...zoe })], 'globex');
    await engine.brake();
    worker.wake();
    await until('the trainer of the other is out', () => tool.members('zoo').length === 0, Boolean);
    expect(engine.log.lines().filter(({ msg }) => msg === 'A membership could not be brought in line')).toEqual([]);
  });

  it('takes the next membership when one is done, while a slow one goes on', async () => {
    await hire(engine, 4);
    const tool = createMemoryTool();
    let endSlow = () => {};
    tool.before = (call, subject) =>
      call === 'add' && subject.endsWith('/t2')
        ? new Promise((resolve) => {
            endSlow = () => resolve();
          })
        : undefined;
    startLoops(createStudioWorker(engine, tool, { concurrency: 2 }));
    await untilActive(engine, 3);
    expect(tool.members('street-signs')).toEqual(['t1', 't3', 't4']);
    endSlow();
    await untilActive(engine, 4);
  });

  it('makes one call at a time about one person, in whichever groups they are wanted', async () => {
    for (const [number, install] of ['acme', 'globex', 'initech'].entries()) {
      const workEmail = `t${number}@opentrain.work`;
      await engine.apply([fullEvent({ type: 'contract.started', workEmail })], install);
    }
    const tool = createMemoryTool('membership', { keyedBy: 'address' });
    tool.before = () => new Promise((resolve) => setImmediate(resolve));
    const other = openForTest(url);
    startLoops(createStudioWorker(engine, tool), createStudioWorker(engine, tool, { database: other }));
    await untilActive(engine, 3);
    expect(tool.mostAtOnce()).toBe(1);
  });

  it('makes one call at a time in an exclusive tool, even with two workers', async () => {
    await hire(engine, 12);
    const tool = createMemoryTool('tool');
    tool.before = () => new Promise((resolve) => setImmediate(resolve));
    const other = openForTest(url);
    startLoops(createStudioWorker(engine, tool), createStudioWorker(engine, tool, { database: other }));
    await untilActive(engine, 12);
    expect(tool.mostAtOnce()).toBe(1);
    expect(await receiptsOf(engine)).toEqual(Array(12).fill('add added'));
  });

  it('works on in an exclusive tool that becomes slow: leases once expired in its queue, for ever', async () => {
    const tool = createMemoryTool('tool');
    const worker = createStudioWorker(engine, tool, { timeoutMs: 15_000 });
    startLoops(worker);
    // While the tool is quick, the worker claims more and more at once.
    await hire(engine, 60);
    worker.wake();
    await untilActive(engine, 60);
    const quickCalls = tool.calls.length;
    tool.before = async () => engine.clock.advance(6000);
    await hire(engine, 20, 61);
    const active = async () => {
      worker.wake();
      return await countActive(engine);
    };
    await until('all are members', active, (count) => count === 80 || tool.calls.length > 500);
    expect(tool.calls.length - quickCalls).toBe(20 * 3);
  });

  it('makes no more calls from the queue of an exclusive tool once the tool has refused its check', async () => {
    const tool = createMemoryTool('tool');
    const worker = createStudioWorker(engine, tool);
    startLoops(worker);
    await hire(engine, 60);
    worker.wake();
    await untilActive(engine, 60);
    const refusal = new AppError('forbidden', 'The token is not valid');
    const checked = Promise.withResolvers<void>();
    tool.adapter.check = async () => {
      checked.resolve();
      throw refusal;
    };
    const asked = new Set<string>();
    tool.before = async (_call, subject) => {
      asked.add(subject);
      if (asked.size === 1) throw refusal;
      await checked.promise;
    };
    await hire(engine, 20, 61);
    const isTroubled = async () => {
      worker.wake();
      return (await engine.rows('toolTrouble')).length > 0;
    };
    await until('the trouble is recorded', isTroubled, Boolean);
    const leased = async () => (await engine.membershipRows()).filter(({ leaseToken }) => leaseToken !== null);
    await until('nobody is claimed', leased, (rows) => rows.length === 0);
    // The refused one, and the one that was under way when the tool was checked.
    expect(asked.size).toBe(2);
  });

  it('releases an exclusive tool when it stops', async () => {
    await hire(engine, 1);
    const tool = createMemoryTool('tool');
    const first = createStudioWorker(engine, tool);
    const second = createStudioWorker(engine, tool, { database: openForTest(url) });
    startLoops(first);
    await untilActive(engine, 1);
    expect(await engine.rows('namedLock')).toMatchObject([{ name: 'tool:studio' }]);

    await first.stop();
    expect(await engine.rows('namedLock')).toEqual([]);
    await hire(engine, 1, 2);
    startLoops(second);
    await untilActive(engine, 2);
  });

  it('takes an exclusive tool over from a dead worker once the lock expires', async () => {
    await hire(engine, 1);
    const tool = createMemoryTool('tool');
    const leasedUntil = new Date(engine.clock.now().getTime() + convergeLeaseMs).toISOString();
    const held = { name: 'tool:studio', token: 'dead', leasedUntil };
    await engine.database.kysely.insertInto('namedLock').values(held).execute();
    const asked: boolean[] = [];
    const database = watchQueries(engine.database, {
      'insert namedLock': (held) => {
        asked.push(held.length > 0);
      },
    });
    const worker = createStudioWorker(engine, tool, { database });
    startLoops(worker);
    for (const turns of [1, 2]) {
      await until(
        `it asked ${turns} times`,
        () => asked.length,
        (times) => times >= turns,
      );
      worker.wake();
    }
    expect(asked).not.toContain(true);
    expect(tool.calls).toEqual([]);

    engine.clock.advance(convergeLeaseMs);
    worker.wake();
    await untilActive(engine, 1);
  });

  it('puts back its claims when it stops', async () => {
    await hire(engine, 1);
    const tool = createMemoryTool();
    const worker = createStudioWorker(engine, tool);
    worker.start();
    await untilActive(engine, 1);
    tool.calls.length = 0;
    tool.before = () => new Promise(() => undefined);
    await hire(engine, 2, 2);
    worker.wake();
    await until('both are looked for', () => tool.calls.length === 2, Boolean);
    await worker.stop();
    const begun = (await engine.membershipRows()).filter(({ state }) => state !== 'active');
    expect(begun).toMatchObject([
      { leaseToken: null, state: 'pending' },
      { leaseToken: null, state: 'pending' },
    ]);
    expect(await receiptsOf(engine)).toEqual(['add added']);
  });

  it('counts and logs its work without addresses or names', async () => {
    await hire(engine, 2);
    const tool = createMemoryTool();
    tool.before = (call, subject) => {
      if (call === 'add' && subject.endsWith('/t2')) {
        throw new AppError('invalid', 'no: t2@opentrain.work', { status: 400 });
      }
    };
    startLoops(createStudioWorker(engine, tool));
    await untilActive(engine, 1);
    await until('both are on record', async () => (await receiptsOf(engine)).length === 2, Boolean);
    await until('both are logged', () => engine.log.lines().length >= 2, Boolean);
    expect(engine.log.lines()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ level: 'info', tool: 'studio', trainer: 't1', outcome: 'added' }),
        expect.objectContaining({ level: 'warn', trainer: 't2', message: 'no: t…@opentrain.work' }),
      ]),
    );
    expect(engine.log.text()).not.toMatch(/t\d@opentrain|Amara/);
    const text = await engine.metrics.toolCalls.get();
    expect(text.values.map(({ labels, value }) => [labels.outcome, value])).toEqual(
      expect.arrayContaining([
        ['added', 1],
        ['refused', 1],
      ]),
    );
  });

  it('goes on after an unexpected error', async () => {
    await hire(engine, 1);
    const tool = createMemoryTool();
    let fails = 1;
    tool.after = () => {
      // What the worker could not foresee must not end it.
      if (fails-- > 0) throw new TypeError('unforeseen');
    };
    const worker = createStudioWorker(engine, tool);
    startLoops(worker);
    await until('it was refused', async () => (await receiptsOf(engine)).length === 1, Boolean);
    engine.clock.advance(3_600_000);
    worker.wake();
    await untilActive(engine, 1);
  });

  it('names the possible accounts of a trainer whose addition was never answered', async () => {
    const tool = createMemoryTool();
    const { adapter } = tool;
    tool.adapter = {
      ...adapter,
      async addMember(group) {
        tool.seed(group, 'x9');
        throw new AppError('unavailable', 'no answer');
      },
      async *listNewcomers() {
        yield { id: 't2', email: null, name: 'another_account' };
        yield { id: 'x9', email: null, name: 'amara_n' };
        yield { id: 'x8', email: null, name: 'amara@private.example' };
      },
    };
    await hire(engine, 1);
    const worker = createStudioWorker(engine, tool);
    startLoops(worker);
    await until('it was not answered', async () => (await receiptsOf(engine)).length === 1, Boolean);
    await hire(engine, 1, 2);
    await engine.database.kysely
      .updateTable('membership')
      .set({ memberId: 't2', state: 'active', nextAttemptAt: null })
      .where('trainerId', '=', 't2')
      .execute();
    await engine.apply([fullEvent({ type: 'contract.ended', contract: 'c1', trainer: 't1' })]);
    await engine.brake();
    worker.wake();
    const alerts = () => engine.log.lines().filter(({ alert }) => alert === 'absence_unproven');
    await until('an alert is raised', alerts, ({ length }) => length === 1);
    expect(alerts()).toMatchObject([
      { tool: 'studio', trainer: 't1', accounts: ['x9 amara_n', 'x8 a…@private.example'] },
    ]);
    const [kept] = await engine.membershipRows();
    expect(kept).toMatchObject({ state: 'failed', wanted: false });
    expect(kept?.failure).toContain('x9, x8');
    expect(kept?.failure).not.toContain('amara');
  });

  it('takes turns if there is one slot, whatever the names of installs', async () => {
    const tool = createMemoryTool('tool');
    const started = (install: string, number: number) =>
      fullEvent({
        type: 'contract.started',
        contract: `c${number}`,
        trainer: `t${number}`,
        link: `of-${install}`,
        project: `${install}-signs`,
      });
    const crowd = Array.from({ length: 30 }, (_, number) => started('acme', number));
    await engine.apply(crowd, 'acme');
    await engine.apply([started('globex', 30)], 'globex');
    startLoops(createStudioWorker(engine, tool));
    await untilActive(engine, 31);
    const adds = tool.calls.filter((call) => call.startsWith('add '));
    expect(adds.findIndex((call) => call.includes('globex'))).toBeLessThanOrEqual(1);
  });
});
