import { expect, it, onTestFinished } from 'vitest';
import { createLanes, type Lane } from '../../src/lib/loop.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { createLogLines } from '../support/log-lines.ts';
import { until } from '../support/until.ts';

/** Lanes for as much work as is waiting. Each piece ends when the test says so. */
function openLanes(waiting: string[], atOnce = 2) {
  const clock = createFakeClock();
  const log = createLogLines();
  const begun: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const beats = new Map<string, () => void>();
  const loop = createLanes({
    name: 'lanes',
    intervalMs: 60_000,
    stallMs: 1000,
    clock,
    logger: log.logger,
    atOnce,
    async next(underway): Promise<Lane | null> {
      const name = waiting.find((one) => !underway.has(one));
      if (name === undefined) return null;
      waiting.splice(waiting.indexOf(name), 1);
      return {
        name,
        work(beat) {
          begun.push(name);
          beats.set(name, beat);
          return new Promise((resolve, reject) => {
            ends.set(name, (error) => (error === undefined ? resolve() : reject(error)));
          });
        },
      };
    },
  });
  loop.start();
  onTestFinished(async () => {
    waiting.length = 0;
    for (const end of ends.values()) end();
    await loop.stop();
  });
  const untilBegun = (...names: string[]) =>
    until(
      `${names} are begun`,
      () => begun,
      (seen) => seen.join() === names.join(),
    );
  return { loop, clock, log, begun, untilBegun, end: ends, beats };
}

it('runs up to the limit at once, one at a time for each name', async () => {
  const { untilBegun, end } = openLanes(['a', 'a', 'b', 'c']);
  await untilBegun('a', 'b');
  end.get('b')?.();
  await untilBegun('a', 'b', 'c');
  end.get('a')?.();
  await untilBegun('a', 'b', 'c', 'a');
});

it('goes on with the others if one fails', async () => {
  const { untilBegun, end, log } = openLanes(['a', 'b', 'c']);
  await untilBegun('a', 'b');
  end.get('a')?.(new Error('the disk is full'));
  await untilBegun('a', 'b', 'c');
  expect(log.lines()).toMatchObject([{ loop: 'lanes', lane: 'a', level: 'error' }]);
});

it('is unhealthy while one piece of work hangs, even if the others make progress', async () => {
  const { loop, clock, untilBegun, beats, end } = openLanes(['a', 'b']);
  await untilBegun('a', 'b');
  clock.advance(900);
  beats.get('a')?.();
  expect(loop.isHealthy()).toBe(true);
  clock.advance(200);
  expect(loop.isHealthy()).toBe(false);
  end.get('b')?.();
  await until('b has ended', loop.isHealthy, (isHealthy) => isHealthy);
});

it('stops when the work under way has ended', async () => {
  const { loop, untilBegun, end } = openLanes(['a']);
  await untilBegun('a');
  let hasStopped = false;
  const stopped = loop.stop().then(() => {
    hasStopped = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(hasStopped).toBe(false);
  end.get('a')?.();
  await stopped;
});
