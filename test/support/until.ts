import { setTimeout as wait } from 'node:timers/promises';
import { TestRunner } from 'vitest';

/** Between two looks a tenth of the time that has passed, but no less and no more than this. */
const [shortestRestMs, longestRestMs] = [5, 100];

/** Left of a test's limit to say what was last seen. */
const spareMs = 2000;

const deaths = new WeakMap<object, Error>();

/**
 * Looks again and again until it is so. No clock ends it but the limit of the test itself: a busy
 * machine only makes it longer. Where a process dies that the test needs, it ends with that.
 */
export async function until<T>(what: string, look: () => T | Promise<T>, isSo: (seen: T) => boolean): Promise<T> {
  const test = TestRunner.getCurrentTest();
  const begunAt = performance.now();
  for (;;) {
    const seen = await look();
    if (isSo(seen)) return seen;
    const death = test && deaths.get(test);
    const reason = death?.message ?? (isNearLimit(test) ? 'the test has lasted too long' : null);
    if (reason !== null) throw new Error(`${what}: never, as ${reason}; last seen: ${JSON.stringify(seen)}`);
    await wait(Math.min(Math.max((performance.now() - begunAt) / 10, shortestRestMs), longestRestMs));
  }
}

/** @returns what ends the waits of the current test, as what they wait for cannot come any more */
export function createWaitEnder(): (death: Error) => void {
  const test = TestRunner.getCurrentTest();
  return (death) => void (test && deaths.set(test, death));
}

function isNearLimit(test: ReturnType<typeof TestRunner.getCurrentTest>): boolean {
  const begunAt = test?.result?.startTime;
  if (test === undefined || begunAt === undefined || test.timeout === 0) return false;
  // The wall clock may be one that the test has set.
  const now = performance.timeOrigin + performance.now();
  return now > begunAt + test.timeout - spareMs;
}
