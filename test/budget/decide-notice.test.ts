import { describe, expect, it } from 'vitest';
import { decideNotice, type Found, type LastNotice, settlesAt } from '../../src/budget/keep-budget.ts';
import type { BudgetState, NotifiedBudgetState } from '../../src/domain/budget.ts';

const now = new Date('2026-03-15T12:00:00.000Z');
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const ago = (ms: number) => new Date(now.getTime() - ms).toISOString();

const noticed = (state: NotifiedBudgetState, ms: number): LastNotice => ({ state, at: ago(ms), fundedVolume: 10 });
const found = (state: BudgetState, ms = 0, fundedVolume: number | null = 10): Found => ({
  state,
  since: ago(ms),
  fundedVolume,
});

const nothing = null;
const news = (state: NotifiedBudgetState) => ({ state, isRepeat: false });
const repeat = (state: NotifiedBudgetState) => ({ state, isRepeat: true });

describe('the notice about a budget', () => {
  it.each<[string, LastNotice | null, Found, object | null]>([
    ['all is well at first sight', null, found('ok'), nothing],
    ['it is low at first sight', null, found('low'), news('low')],
    ['it is used up at first sight', null, found('depleted'), news('depleted')],
    ['the first state is an unknown word', null, found('unknown'), nothing],
    ['it runs low after it was well', noticed('ok', 1), found('low'), news('low')],
    ['it is used up just after it ran low', noticed('low', 1), found('depleted'), news('depleted')],
    ['it is still low', noticed('low', dayMs), found('low', dayMs), nothing],
    ['it is still used up', noticed('depleted', 6 * dayMs), found('depleted', 9), nothing],
    ['it is still low a week later', noticed('low', 7 * dayMs), found('low'), repeat('low')],
    ['it is still used up then', noticed('depleted', 7 * dayMs), found('depleted'), repeat('depleted')],
    ['it is still well a year later', noticed('ok', 365 * dayMs), found('ok'), nothing],
    ['an unknown word comes', noticed('low', 9 * dayMs), found('unknown'), nothing],
    ['it is well again by a correction', noticed('low', dayMs), found('ok'), nothing],
    ['that has not lasted', noticed('low', dayMs), found('ok', 59 * minuteMs), nothing],
    ['that has lasted', noticed('low', dayMs), found('ok', 60 * minuteMs), news('ok')],
    ['it is only low again', noticed('depleted', dayMs), found('low'), nothing],
    ['that has lasted, too', noticed('depleted', dayMs), found('low', 60 * minuteMs), news('low')],
    ['more was funded', noticed('depleted', 1), found('ok', 0, 20), news('ok')],
    ['more was funded, and not enough', noticed('depleted', 1), found('low', 0, 11), news('low')],
    ['more was funded, and it is used up still', noticed('depleted', 1), found('depleted', 0, 11), nothing],
    ['what was funded is not said', noticed('depleted', 1), found('ok', 0, null), nothing],
  ])('%s', (_when, before, seen, expected) => {
    expect(decideNotice(before, seen, { now, repeatMs: 7 * dayMs })).toEqual(expected);
  });

  it('is never repeated where that is not wanted', () => {
    const long = noticed('low', 999 * dayMs);
    expect(decideNotice(long, found('low'), { now, repeatMs: null })).toBeNull();
  });

  it('waits until an hour has passed, and for nothing else', () => {
    expect(settlesAt(noticed('low', dayMs), found('ok'))).toBe('2026-03-15T13:00:00.000Z');
    expect(settlesAt(noticed('low', dayMs), found('ok', 0, 20))).toBeNull();
    expect(settlesAt(noticed('low', dayMs), found('depleted'))).toBeNull();
    expect(settlesAt(noticed('low', dayMs), found('low'))).toBeNull();
    expect(settlesAt(null, found('ok'))).toBeNull();
  });
});
