import { beforeEach, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { holdInstalls } from '../../src/reconcile/read/install-state-store.ts';
import { createStudioWorker } from '../support/converging.ts';
import { openForTest } from '../support/databases.ts';
import { createEngine, type Engine, startLoops } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createMemoryTool, type MemoryTool } from '../support/memory-tool.ts';
import { describeAnyDialect } from '../support/tries.ts';
import { troublesIn } from '../support/troubles.ts';
import { until } from '../support/until.ts';

const at = '2026-03-15T12:00:00.000Z';
const minuteMs = 60_000;
const silent = new AppError('unavailable', 'The tool did not answer within 5000 ms');
const refusal = new AppError('unauthenticated', 'The tool answered 401', { status: 401 });

describeAnyDialect('what is said of the tools', (dialect) => {
  let engine: Engine;
  let tool: MemoryTool;

  beforeEach(async () => {
    engine = createEngine(openForTest(await dialect.createMigrated()));
    tool = createMemoryTool();
  });

  /** Asks as another process would, which knows only the database. */
  const load = async () => (await troublesIn(engine)).filter(({ kind }) => kind.startsWith('tool_'));
  const says = async () => (await load()).map((one) => one.says);

  const say = (type: string, numbers: number[]) =>
    engine.apply(
      numbers.map((number) => fullEvent({ type, contract: `c${number}`, trainer: `t${number}`, createdAt: at })),
    );

  /** Answers every call with this error, also the check. */
  function answerWith(error: AppError | undefined): void {
    const refuse = () => {
      if (error !== undefined) throw error;
    };
    tool.before = refuse;
    tool.adapter.check = async () => {
      refuse();
      return [];
    };
  }

  function start() {
    const worker = createStudioWorker(engine, tool);
    startLoops(worker);
    return worker;
  }

  it('is not listed if no trainer waits', async () => {
    start();
    expect(await load()).toEqual([]);
  });

  it('says which tool does not answer, since when, and who waits, until it answers', async () => {
    answerWith(silent);
    await say('contract.started', range(23));
    const worker = start();
    await until('it is said', says, ({ length }) => length === 1);
    expect(await load()).toMatchObject([
      {
        kind: 'tool_left_alone',
        severity: 'down',
        tool: 'studio',
        since: at,
        count: 23,
        says: 'Tool “studio” is not answering. 23 trainers cannot get in.',
        detail: expect.stringMatching(
          /^The tool did not answer within 5000 ms. Next try at \S+Z\. Waiting: t1, t10, t11, …$/,
        ),
        page: '/access?tool=studio&state=pending',
      },
    ]);

    // It is probed again. The trouble is the same, and so is its beginning.
    engine.clock.advance(minuteMs);
    worker.wake();
    const nextTry = async () => (await load())[0]?.detail?.split('Next try at ')[1] ?? '';
    await until('it was asked again', nextTry, (next) => next > '2026-03-15T12:01:00.000Z');
    expect(await load()).toMatchObject([{ since: at }]);

    answerWith(undefined);
    engine.clock.advance(minuteMs);
    worker.wake();
    await until('it is over', load, ({ length }) => length === 0);
  });

  it('says which tool refuses its token, and who is therefore still in', async () => {
    await say('contract.started', range(3));
    const worker = start();
    await until('they are in', countIn, (count) => count === 3);
    answerWith(refusal);
    await say('contract.ended', [1]);
    await say('contract.started', [4]);
    await engine.brake();
    worker.wake();
    await until('it is said', load, ([one]) => one?.count === 2);
    expect(await load()).toMatchObject([
      {
        says: 'Tool “studio” refuses its token. 1 trainer cannot get in. 1 trainer who should be out is still in.',
        detail: expect.stringMatching(/^The tool answered 401\. .* Waiting: t1, t4$/),
      },
    ]);
  });

  it('is not one that a stopped instance left behind', async () => {
    answerWith(silent);
    await say('contract.started', range(5));
    const worker = start();
    await until('it is said', says, ({ length }) => length === 1);
    await worker.stop();
    engine.clock.advance(6 * minuteMs);
    expect(await load()).toMatchObject([{ kind: 'tool_slow', count: 5 }]);
  });

  it('is checked again by the next instance, even if no trainer waits', async () => {
    answerWith(silent);
    await say('contract.started', range(5));
    const worker = start();
    await until('it is said', says, ({ length }) => length === 1);
    await worker.stop();
    await engine.database.kysely.updateTable('membership').set({ nextAttemptAt: null }).execute();
    expect(await says()).toEqual(['Tool “studio” is not answering.']);
    answerWith(undefined);
    start();
    await until('it is over', says, ({ length }) => length === 0);
  });

  it('says which tool is slow, once a trainer has waited for two minutes', async () => {
    await say('contract.started', range(2));
    engine.clock.advance(2 * minuteMs - 1);
    expect(await says()).toEqual([]);
    engine.clock.advance(1);
    expect(await load()).toMatchObject([
      {
        kind: 'tool_slow',
        since: at,
        count: 2,
        says: 'Tool “studio” is slow, or fails for some trainers. 2 trainers cannot get in.',
        detail: 'Waiting: t1, t2',
        action: expect.stringContaining('gangway members --tool studio --state pending'),
        page: '/access?tool=studio&state=pending',
      },
    ]);
  });

  it('quotes the most frequent failure', async () => {
    await say('contract.started', range(2));
    tool.before = () => {
      throw silent;
    };
    tool.adapter.check = async () => [];
    const worker = start();
    const tried = async () => (await engine.membershipRows()).filter(({ attempts }) => attempts > 0).length;
    await until('they were tried', tried, (count) => count === 2);
    await worker.stop();
    engine.clock.advance(2 * minuteMs);
    expect(await load()).toMatchObject([
      { kind: 'tool_slow', detail: expect.stringMatching(/^Most got the answer: The tool did not answer wi/) },
    ]);
  });

  it('does not count people who wait for something else', async () => {
    await say('contract.started', range(2));
    // One trainer has no address. What is older than a silence waits for the marketplace.
    const { kysely } = engine.database;
    await kysely.updateTable('membership').set({ state: 'waiting_email' }).where('trainerId', '=', 't1').execute();
    engine.clock.advance(5 * minuteMs);
    await holdInstalls(engine, ['acme'], engine.clock.now().toISOString());
    expect(await load()).toEqual([]);
  });

  const countIn = () => tool.members('street-signs').length;
});

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
