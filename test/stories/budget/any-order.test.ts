import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyReading } from '../../../src/budget/keep-budget.ts';
import type { Row } from '../../../src/db/schema.ts';
import type { BudgetNotice } from '../../../src/domain/notice.ts';
import { noBudget, toBudget } from '../../support/budgets.ts';
import { tries } from '../../support/tries.ts';

const begin = Date.parse('2026-03-15T12:00:00.000Z');
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** A later request may be answered sooner. */
const reading = fc.record({
  askedAfterMs: fc.integer({ min: 0, max: 20 * dayMs }),
  takesMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3 * 60 * minuteMs })),
  state: fc.constantFrom('OK', 'LOW', 'DEPLETED'),
  fundedVolume: fc.constantFrom(10, 20, null),
});
type Reading = typeof reading extends fc.Arbitrary<infer T> ? T : never;

interface DatedNotice extends BudgetNotice {
  at: number;
}

/** All notices, if the answers arrive in this order. */
function noticesOf(readings: readonly Reading[], repeatMs: number | null): DatedNotice[] {
  const notices: DatedNotice[] = [];
  let row: Row<'budget'> = noBudget;
  const arrivals = readings
    .map((one) => ({ ...one, at: begin + one.askedAfterMs + one.takesMs }))
    .sort((a, b) => a.at - b.at);
  const take = (one: Reading, at: number) => {
    const askedAt = new Date(begin + one.askedAfterMs).toISOString();
    const budget = toBudget(one.state, { fundedVolume: one.fundedVolume });
    const key = { install: 'acme', contractId: 'cmc1' };
    const rules = { now: new Date(at), repeatMs };
    const change = applyReading(row, { ...key, budget, askedAt }, rules);
    row = change.row;
    if (change.notice !== null) notices.push({ ...change.notice, at });
  };
  for (const { at, ...one } of arrivals) take(one, at);
  // The last request is repeated when everything is quiet.
  const last = lastAsked(readings);
  if (last !== undefined) {
    const settledMs = 25 * dayMs;
    take({ ...last, askedAfterMs: settledMs - 61 * minuteMs }, begin + settledMs - 61 * minuteMs);
    take({ ...last, askedAfterMs: settledMs }, begin + settledMs);
  }
  return notices;
}

function lastAsked(readings: readonly Reading[]): Reading | undefined {
  return readings.toSorted((a, b) => a.askedAfterMs - b.askedAfterMs).at(-1);
}

/** No two at the same time, so that the last is known. */
const readings = fc.uniqueArray(reading, {
  selector: ({ askedAfterMs }) => askedAfterMs,
  minLength: 1,
  maxLength: 40,
});
const repeatMs = fc.constantFrom(null, dayMs, 7 * dayMs);

describe('readings in any order of arrival', () => {
  it('end with a notice of the final state', () => {
    fc.assert(
      fc.property(readings, repeatMs, (all, every) => {
        const notices = noticesOf(all, every);
        const state = lastAsked(all)?.state.toLowerCase();
        expect(notices.at(-1)?.kind ?? 'budget.ok').toBe(`budget.${state}`);
      }),
      { numRuns: tries(2000) },
    );
  });

  it('never repeat a notice early', () => {
    fc.assert(
      fc.property(readings, repeatMs, (all, every) => {
        const notices = noticesOf(all, every);
        for (const [index, later] of notices.entries()) {
          const earlier = notices[index - 1];
          const isSame = earlier?.kind === later.kind;
          expect(later.isRepeat).toBe(isSame);
          if (!isSame || earlier === undefined) continue;
          expect(later.kind).not.toBe('budget.ok');
          expect(later.at - earlier.at).toBeGreaterThanOrEqual(every ?? Number.POSITIVE_INFINITY);
        }
      }),
      { numRuns: tries(2000) },
    );
  });
});
