import { beforeEach, expect, it, vi } from 'vitest';
import { workUntil } from '../../src/operations/reconcile-now.ts';
import { createFakeClock } from '../support/fake-clock.ts';

const { rests, onRest } = vi.hoisted(() => ({
  rests: [] as number[],
  onRest: { pass: (_ms: number): void => undefined },
}));

vi.mock('node:timers/promises', async (importOriginal) => ({
  ...(await importOriginal<object>()),
  setTimeout: async (ms: number) => {
    rests.push(ms);
    onRest.pass(ms);
  },
}));

/** Looks until five counts have found something left, or until the wait is over. Each count takes so long. */
async function restsOf({ countMs, waitMs }: { countMs: number; waitMs: number }): Promise<number[]> {
  const clock = createFakeClock();
  const pass = (ms: number) => {
    clock.advance(ms);
    vi.advanceTimersByTime(ms);
  };
  onRest.pass = pass;
  let counts = 0;
  const count = async () => {
    counts += 1;
    pass(countMs);
    return counts > 5 ? 0 : 1;
  };
  const { signal } = new AbortController();
  await workUntil({ clock }, { loops: [], waitMs, signal, onProgress: () => undefined }, (left) => left, count);
  return rests.splice(0);
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  return () => vi.useRealTimers();
});

it('a command that syncs the tools rests between its counts, but not for long and not beyond its wait', async () => {
  expect(await restsOf({ countMs: 0, waitMs: 60_000 })).toEqual([100, 100, 100, 100, 100]);
  expect(await restsOf({ countMs: 20, waitMs: 60_000 })).toEqual([100, 1000, 1000, 1000, 1000]);
  expect(await restsOf({ countMs: 400, waitMs: 60_000 })).toEqual([100, 10_000, 10_000, 10_000, 10_000]);
  expect(await restsOf({ countMs: 400, waitMs: 3000 })).toEqual([100, 2100]);
});
