import { describe, expect, it } from 'vitest';
import { decideNotice, settlesAt } from '../../src/budget/keep-budget.ts';
import type { BudgetState, NotifiedBudgetState } from '../../src/domain/budget.ts';

const now = new Date('2026-03-15T12:00:00.000Z');
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const ago = (ms: number) => new Date(now.getTime() - ms).toISOString();

/** The last notice: its state, and how long ago it was. */
const noticed = (notifiedState: NotifiedBudgetState | null, ms = 0) => ({
  notifiedState,
  notifiedAt: notifiedState && ago(ms),
  notifiedFundedVolume: notifiedState && 10,
});
/** What was read, and for how long the state has lasted. */
const found = (state: BudgetState, ms = 0, fundedVolume: number | null = 10) => {
  return { state, stateSince: ago(ms), fundedVolume };
};
const neverNoticed = noticed(null);

const nothing = null;
const news = (state: NotifiedBudgetState) => ({ state, isRepeat: false });
const repeat = (state: NotifiedBudgetState) => ({ state, isRepeat: true });

describe('the notice about a budget, when', () => {
  it.each<[string, ReturnType<typeof noticed>, ReturnType<typeof found>, object | null]>([
    ['the first state is ok', neverNoticed, found('ok'), nothing],
    ['the first state is low', neverNoticed, found('low'), news('low')],
    ['the first state is depleted', neverNoticed, found('depleted'), news('depleted')],
    ['the first state is unknown', neverNoticed, found('unknown'), nothing],
    ['it becomes low after it was ok', noticed('ok', 1), found('low'), news('low')],
    ['it is depleted just after it became low', noticed('low', 1), found('depleted'), news('depleted')],
    ['it is still low', noticed('low', dayMs), found('low', dayMs), nothing],
    ['it is still depleted', noticed('depleted', 6 * dayMs), found('depleted', 9), nothing],
    ['it is still low a week later', noticed('low', 7 * dayMs), found('low'), repeat('low')],
    ['it is still depleted a week later', noticed('depleted', 7 * dayMs), found('depleted'), repeat('depleted')],
    ['it is still ok a year later', noticed('ok', 365 * dayMs), found('ok'), nothing],
    ['it becomes unknown', noticed('low', 9 * dayMs), found('unknown'), nothing],
    ['a correction makes it ok', noticed('low', dayMs), found('ok'), nothing],
    ['it has been ok for less than an hour', noticed('low', dayMs), found('ok', 59 * minuteMs), nothing],
    ['it has been ok for an hour', noticed('low', dayMs), found('ok', 60 * minuteMs), news('ok')],
    ['a correction makes it low after it was depleted', noticed('depleted', dayMs), found('low'), nothing],
    ['it has been low again for an hour', noticed('depleted', dayMs), found('low', 60 * minuteMs), news('low')],
    ['more was funded', noticed('depleted', 1), found('ok', 0, 20), news('ok')],
    ['more was funded, but not enough', noticed('depleted', 1), found('low', 0, 11), news('low')],
    ['more was funded, but it is still depleted', noticed('depleted', 1), found('depleted', 0, 11), nothing],
    ['the funding is unknown', noticed('depleted', 1), found('ok', 0, null), nothing],
  ])('%s', (_when, before, seen, expected) => {
    expect(decideNotice({ ...before, ...seen }, { now, repeatMs: 7 * dayMs })).toEqual(expected);
  });

  it('is never repeated if repeats are off', () => {
    const long = { ...noticed('low', 999 * dayMs), ...found('low') };
    expect(decideNotice(long, { now, repeatMs: null })).toBeNull();
  });

  it('waits for an hour after a better state, and for nothing else', () => {
    expect(settlesAt({ ...noticed('low', dayMs), ...found('ok') })).toBe('2026-03-15T13:00:00.000Z');
    expect(settlesAt({ ...noticed('low', dayMs), ...found('ok', 0, 20) })).toBeNull();
    expect(settlesAt({ ...noticed('low', dayMs), ...found('depleted') })).toBeNull();
    expect(settlesAt({ ...noticed('low', dayMs), ...found('low') })).toBeNull();
    expect(settlesAt({ ...neverNoticed, ...found('ok') })).toBeNull();
  });
});
