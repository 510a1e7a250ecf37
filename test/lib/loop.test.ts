import { expect, it, onTestFinished } from 'vitest';
import { createLoop } from '../../src/lib/loop.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { createLogLines } from '../support/log-lines.ts';
import { until } from '../support/until.ts';

type Outcome = 'more' | 'idle';

interface Run {
  signal: AbortSignal;
  beat(): void;
  end(outcome: Outcome): void;
  fail(error: Error): void;
}

/** A loop whose every run waits until the test ends it. */
function openLoop({ intervalMs = 60_000, stallMs = 1000, restPerRun = 0 } = {}) {
  const [clock, log] = [createFakeClock(), createLogLines()];
  const runs: Run[] = [];
  const loop = createLoop({
    name: 'test',
    intervalMs,
    stallMs,
    restPerRun,
    clock,
    logger: log.logger,
    run(signal, beat) {
      const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
      signal.addEventListener('abort', () => resolve('idle'));
      runs.push({ signal, beat, end: resolve, fail: reject });
      return promise;
    },
  });
  onTestFinished(() => loop.stop());
  return { loop, clock, log, runs };
}

/** Everything that was going to happen by itself has happened. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Resolves when a second run has begun. */
async function runsAgain(runs: readonly Run[]): Promise<void> {
  await until('it runs again', () => runs.length === 2, Boolean);
}

it('runs at once, and again after its interval', async () => {
  const { loop, runs } = openLoop({ intervalMs: 5 });
  expect(runs).toHaveLength(0);
  loop.start();
  loop.start();
  expect(runs).toHaveLength(1);
  runs[0]?.end('idle');
  await runsAgain(runs);
});

it('runs again at once while there is more to do', async () => {
  const { loop, runs } = openLoop();
  loop.start();
  for (let run = 0; run < 5; run += 1) {
    runs[run]?.end('more');
    await settle();
    expect(runs).toHaveLength(run + 2);
  }
});

it('does nothing while it is paused, is healthy, and goes on at once after that', async () => {
  const { loop, runs } = openLoop();
  loop.pause(true);
  loop.start();
  loop.wake();
  await settle();
  expect([runs.length, loop.isHealthy()]).toEqual([0, true]);
  loop.pause(false);
  await until('it runs', () => runs.length === 1, Boolean);
});

it('gives the thread to others between two runs', async () => {
  let runs = 0;
  const { logger } = createLogLines();
  const loop = createLoop({
    name: 'busy',
    intervalMs: 1,
    clock: createFakeClock(),
    logger,
    run: async () => {
      runs += 1;
      return 'more';
    },
  });
  loop.start();
  // A timer fires at all only because the loop lets others run.
  await until('it has run twice', () => runs > 1, Boolean);
  await loop.stop();
});

it.each(['at rest', 'during a run'])('runs once more after many wakes %s, then rests', async (when) => {
  const { loop, runs } = openLoop();
  loop.start();
  if (when === 'at rest') runs[0]?.end('idle');
  await settle();
  expect(runs).toHaveLength(1);
  for (let wake = 0; wake < 10; wake += 1) loop.wake();
  for (const run of [0, 1]) {
    runs[run]?.end('idle');
    await settle();
    expect(runs).toHaveLength(2);
  }
});

it("ignores wakes for a multiple of the run's length", async () => {
  const { loop, runs, clock } = openLoop({ restPerRun: 4 });
  loop.start();
  const begunAt = performance.now();
  clock.advance(30);
  runs[0]?.end('idle');
  await settle();
  loop.wake();
  await settle();
  expect(runs).toHaveLength(1);
  await runsAgain(runs);
  expect(performance.now() - begunAt).toBeGreaterThan(100);
});

it('rests no longer than its interval after a long run', async () => {
  const { loop, runs, clock } = openLoop({ intervalMs: 5, restPerRun: 4 });
  loop.start();
  clock.advance(3_600_000);
  runs[0]?.end('idle');
  await runsAgain(runs);
});

it('rests longer after each failure, and ignores wakes meanwhile', async () => {
  const { loop, runs, log } = openLoop({ intervalMs: 1 });
  const begunAt = performance.now();
  loop.start();
  runs[0]?.fail(new Error('no'));
  await settle();
  loop.wake();
  await settle();
  expect(runs).toHaveLength(1);
  await runsAgain(runs);
  expect(performance.now() - begunAt).toBeGreaterThan(950);
  runs[1]?.fail(new Error('no'));
  await settle();
  expect(log.lines()).toMatchObject([
    { level: 'error', loop: 'test', failures: 1, err: { message: 'no' } },
    { failures: 2 },
  ]);
});

it('counts failures from zero after a success', async () => {
  const { loop, runs, log } = openLoop({ intervalMs: 1 });
  loop.start();
  runs[0]?.fail(new Error('no'));
  await runsAgain(runs);
  runs[1]?.end('more');
  await settle();
  runs[2]?.fail(new Error('no'));
  await settle();
  expect(log.lines().map(({ failures }) => failures)).toEqual([1, 1]);
});

it('aborts a run to stop, and waits for its end', async () => {
  const { loop, runs, log } = openLoop();
  loop.start();
  await loop.stop();
  expect(runs[0]?.signal.aborted).toBe(true);
  loop.wake();
  await settle();
  expect(runs).toHaveLength(1);
  expect(log.lines()).toEqual([]);
});

it('does not stop before the run has ended', async () => {
  const { promise: ended, resolve: end } = Promise.withResolvers<Outcome>();
  const { logger } = createLogLines();
  const options = { name: 'slow', intervalMs: 1, clock: createFakeClock(), logger };
  const loop = createLoop({ ...options, run: () => ended });
  loop.start();
  let hasStopped = false;
  const stopping = loop.stop().then(() => {
    hasStopped = true;
  });
  await settle();
  expect(hasStopped).toBe(false);
  end('more');
  await stopping;
});

it('does not count the failure of an aborted run', async () => {
  const { loop, runs, log } = openLoop();
  loop.start();
  runs[0]?.signal.addEventListener('abort', () => runs[0]?.fail(new Error('aborted')));
  await loop.stop();
  expect(log.lines()).toEqual([]);
});

it('stops at once while it rests, and before it was started', async () => {
  const { loop, runs } = openLoop();
  loop.start();
  runs[0]?.end('idle');
  await settle();
  await loop.stop();
  await openLoop().loop.stop();
});

it('becomes unhealthy when a run hangs, and healthy again when it ends', async () => {
  const { loop, clock, runs } = openLoop({ intervalMs: 60_000, stallMs: 1000 });
  loop.start();
  clock.advance(60_999);
  expect(loop.isHealthy()).toBe(true);
  clock.advance(1);
  expect(loop.isHealthy()).toBe(false);
  runs[0]?.end('idle');
  await settle();
  expect(loop.isHealthy()).toBe(true);
});

it('is healthy while a run makes progress', () => {
  const { loop, clock, runs } = openLoop({ intervalMs: 60_000, stallMs: 1000 });
  loop.start();
  for (let step = 0; step < 5; step += 1) {
    clock.advance(60_999);
    runs[0]?.beat();
    expect(loop.isHealthy()).toBe(true);
  }
  clock.advance(61_000);
  expect(loop.isHealthy()).toBe(false);
});

it('lets timers run, however often it is woken', async () => {
  const [clock, log] = [createFakeClock(), createLogLines()];
  let isTime = false;
  const timer = setTimeout(() => {
    isTime = true;
  }, 5);
  onTestFinished(() => clearTimeout(timer));
  let turns = 0;
  const loop = createLoop({
    name: 'busy',
    intervalMs: 60_000,
    clock,
    logger: log.logger,
    async run() {
      turns += 1;
      // Without a timer ever, it would go on for as long as this.
      if (!isTime && turns < 200_000) queueMicrotask(() => loop.wake());
      return 'idle';
    },
  });
  loop.start();
  await until('the timer had its turn', () => isTime, Boolean);
  await loop.stop();
  expect(turns).toBeLessThan(200_000);
});
