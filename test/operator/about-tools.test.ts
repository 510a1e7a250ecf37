import { beforeEach, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { loadTools } from '../../src/operator/about-tools.ts';
import { holdInstalls } from '../../src/reconcile/read/hold-store.ts';
import { createStudioWorker } from '../support/converging.ts';
import { openForTest } from '../support/databases.ts';
import { createEngine, type Engine, startLoops } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createMemoryTool, type MemoryTool } from '../support/memory-tool.ts';
import { describeAnyDialect } from '../support/tries.ts';
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
  const load = () => loadTools(engine, engine.clock.now());
  const says = async () => (await load()).attention.map((one) => one.says);

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

  it('is nothing where no trainer waits', async () => {
    start();
    expect(await load()).toEqual({ tools: [], attention: [] });
  });

  it('is that one does not answer, since when, and who waits for it, until it does', async () => {
    answerWith(silent);
    await say('contract.started', range(23));
    const worker = start();
    await until('it is said', says, ({ length }) => length === 1);
    const { tools, attention } = await load();
    expect(tools).toMatchObject([{ tool: 'studio', waiting: 23, trouble: { since: at } }]);
    expect(attention).toEqual([
      {
        says: expect.stringMatching(
          /^studio does not answer as it should since 2026-03-15T12:00:00.000Z: The tool did not answer within 5000 ms; who waits for it: 23 \(23 to get in\): t1, t10, t11, …$/,
        ),
        action: expect.stringMatching(/^see that it runs, .+; it is asked again by itself at 2026-/),
        page: '/access?tool=studio&state=pending',
      },
    ]);

    // It is probed again. The trouble is the same, and so is its beginning.
    engine.clock.advance(minuteMs);
    worker.wake();
    await until(
      'it was asked again',
      async () => (await load()).tools,
      (found) => (found[0]?.trouble?.asksAgainAt ?? '') > '2026-03-15T12:01:00.000Z',
    );
    expect(await says()).toMatchObject([expect.stringContaining(`since ${at}`)]);

    answerWith(undefined);
    engine.clock.advance(minuteMs);
    worker.wake();
    await until('it is over', load, ({ tools: left }) => left.length === 0);
  });

  it('is that one refuses its token, and who is still in for that', async () => {
    await say('contract.started', range(3));
    const worker = start();
    await until('they are in', countIn, (count) => count === 3);
    answerWith(refusal);
    await say('contract.ended', [1]);
    await say('contract.started', [4]);
    await engine.brake();
    worker.wake();
    await until('it is said', says, ([line = '']) => line.includes('who waits for it: 2'));
    const [line] = (await load()).attention;
    expect(line?.says).toMatch(
      /^studio refuses its token since 2026-.+: The tool answered 401; who waits for it: 2 \(1 to get in, 1 to be taken out, who are still in\): t1, t4$/,
    );
    expect(line?.action).toMatch(/^give tools\.studio a token that is good, and restart; /);
  });

  it('is no longer what was left behind by an instance that is gone', async () => {
    answerWith(silent);
    await say('contract.started', range(5));
    const worker = start();
    await until('it is said', says, ({ length }) => length === 1);
    await worker.stop();
    engine.clock.advance(6 * minuteMs);
    expect((await load()).tools).toMatchObject([{ trouble: null, waiting: 5 }]);
  });

  it('is asked for anew by the next instance, though no trainer waits', async () => {
    answerWith(silent);
    await say('contract.started', range(5));
    const worker = start();
    await until('it is said', says, ({ length }) => length === 1);
    await worker.stop();
    await engine.database.kysely.updateTable('membership').set({ nextAttemptAt: null }).execute();
    expect(await says()).toMatchObject([expect.stringContaining('no trainer waits for it now')]);
    answerWith(undefined);
    start();
    await until('it is over', says, ({ length }) => length === 0);
  });

  it('is that one is slow, once a trainer has waited for two minutes', async () => {
    await say('contract.started', range(2));
    engine.clock.advance(2 * minuteMs - 1);
    expect(await says()).toEqual([]);
    engine.clock.advance(1);
    expect((await load()).attention).toEqual([
      {
        says: `studio is slow, or fails for some, since ${at}; who waits for it: 2 (2 to get in): t1, t2`,
        action: expect.stringContaining('gangway members --tool studio --state pending'),
        page: '/access?tool=studio&state=pending',
      },
    ]);
  });

  it('is the answer that most trainers got whose calls fail one by one', async () => {
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
    expect(await says()).toMatchObject([
      expect.stringMatching(/ since 2026-03-15T12:00:.+ most got the answer: The tool did not answer wi/),
    ]);
  });

  it('is nothing of people who wait for something else', async () => {
    await say('contract.started', range(2));
    // One trainer has no address. What is older than a silence waits for the marketplace.
    const { kysely } = engine.database;
    await kysely.updateTable('membership').set({ state: 'waiting_email' }).where('trainerId', '=', 't1').execute();
    engine.clock.advance(5 * minuteMs);
    await holdInstalls(engine, ['acme'], engine.clock.now().toISOString());
    expect(await load()).toEqual({ tools: [], attention: [] });
  });

  const countIn = () => tool.members('street-signs').length;
});

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
