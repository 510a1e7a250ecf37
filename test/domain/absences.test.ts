import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Absences, goneSince, isMissed, mergeAbsences } from '../../src/domain/evidence.ts';
import { tries } from '../support/tries.ts';

const start = Date.parse('2026-03-15T12:00:00.000Z');
const minuteMs = 60_000;

function at(minutes: number): string {
  return new Date(start + minutes * minuteMs).toISOString();
}

/** As reads come in, one after the other. */
function miss(...minutes: number[]): Absences {
  return minutes.map(at).reduce<Absences>(mergeAbsences, null);
}

/** Minutes, in halves so that some are on an edge, over a time in which some are forgotten. */
const minute = fc.integer({ min: 0, max: 240 }).map((halves) => halves / 2);
const absences = fc.array(minute, { maxLength: 12 }).map((minutes) => miss(...minutes));

describe('merging absences', () => {
  it('is commutative', () => {
    fc.assert(
      fc.property(absences, absences, (a, b) => {
        expect(mergeAbsences(a, b)).toBe(mergeAbsences(b, a));
      }),
      { numRuns: tries(5000) },
    );
  });

  it('is associative', () => {
    fc.assert(
      fc.property(absences, absences, absences, (a, b, c) => {
        const left = mergeAbsences(mergeAbsences(a, b), c);
        expect(left).toBe(mergeAbsences(a, mergeAbsences(b, c)));
      }),
      { numRuns: tries(5000) },
    );
  });

  it('is idempotent', () => {
    fc.assert(
      fc.property(absences, absences, (a, b) => {
        expect(mergeAbsences(a, a)).toBe(a);
        const merged = mergeAbsences(a, b);
        expect(mergeAbsences(merged, b)).toBe(merged);
        expect(mergeAbsences(a, merged)).toBe(merged);
      }),
      { numRuns: tries(5000) },
    );
  });

  it('gives the same in every order of single readings, with repeats', () => {
    const reads = fc.array(minute, { minLength: 1, maxLength: 12 }).chain((minutes) =>
      fc.record({
        minutes: fc.constant(minutes),
        order: fc.shuffledSubarray([...minutes, ...minutes], { minLength: minutes.length * 2 }),
      }),
    );
    fc.assert(
      fc.property(reads, fc.option(minute), ({ minutes, order }, seen) => {
        const lastSeenAt = seen === null ? null : at(seen);
        expect(miss(...order)).toBe(miss(...minutes));
        expect(goneSince(miss(...order), lastSeenAt)).toBe(goneSince(miss(...minutes), lastSeenAt));
      }),
      { numRuns: tries(5000) },
    );
  });

  it('never keeps more than three', () => {
    const all = Array.from({ length: 1000 }, (_, index) => index / 4);
    expect(miss(...all)?.split(' ')).toHaveLength(3);
  });

  it('of nothing is null', () => {
    expect(mergeAbsences(null, null)).toBeNull();
    expect(mergeAbsences(null, at(1))).toBe(at(1));
  });
});

describe('what was missed is gone', () => {
  it.each<[string, number[], number | null, number | null]>([
    ['never, where it was never missed', [], null, null],
    ['not by one absence', [0], null, null],
    ['not by two absences 9:59.999 apart', [0, 10 - 1 / 60_000], null, null],
    ['by two absences 10:00 apart', [0, 10], null, 10],
    ['by two absences a day apart', [0, 1440], null, 1440],
    ['not by a second one within the same ten minutes of the clock', [1, 9], null, null],
    ['not by two absences across the hour that are close', [9, 11], null, null],
    ['by two absences across the hour that are 10:00 apart', [3, 13], null, 13],
    ['not by many that are close', [0, 2, 4, 6, 8], null, null],
    ['by the first that is far enough, whatever came between', [0, 8, 18, 19], null, 19],
    ['not by an absence on each side of an observation', [0, 12], 5, null],
    ['not by absences before the observation', [0, 12], 13, null],
    ['not by absences as old as the observation', [0, 12], 12, null],
    ['not by an absence that began when it was seen, and one after', [0, 12], 0, null],
    ['by two absences after the observation', [0, 6, 16], 5, 16],
    ['by two absences after it, however many were before', [0, 10, 20, 30, 41, 52], 35, 52],
  ])('%s', (_, missed, seen, gone) => {
    const lastSeenAt = seen === null ? null : at(seen);
    expect(goneSince(miss(...missed), lastSeenAt)).toBe(gone === null ? null : at(gone));
  });

  it.each([1, 2, 5, 9, 10, 11, 15, 60])('after readings every %i minutes, and stays gone', (every) => {
    let known: Absences = null;
    let firstGone: number | null = null;
    for (let minutes = 3; minutes < 400; minutes += every) {
      known = mergeAbsences(known, at(minutes));
      const isGone = goneSince(known, at(2)) !== null;
      if (isGone && firstGone === null) firstGone = minutes;
      expect(isGone, `after ${minutes} minutes`).toBe(firstGone !== null);
    }
    // Ten minutes at least, and never longer than twenty where it is read often.
    expect(firstGone).toBeGreaterThanOrEqual(13);
    expect(firstGone).toBeLessThanOrEqual(3 + Math.max(20, every));
  });

  it('never by readings within 10 minutes, in any order and number', () => {
    const close = fc.array(fc.integer({ min: 0, max: 599_999 }), { maxLength: 20 });
    fc.assert(
      fc.property(close, minute, (offsets, from) => {
        expect(goneSince(miss(...offsets.map((ms) => from + ms / minuteMs)), null)).toBeNull();
      }),
      { numRuns: tries(2000) },
    );
  });

  it('only by two readings that far apart since it was last seen', () => {
    fc.assert(
      fc.property(fc.array(minute, { maxLength: 12 }), minute, (missed, seen) => {
        const since = missed.filter((one) => one > seen);
        const spread = since.length === 0 ? 0 : Math.max(...since) - Math.min(...since);
        if (spread < 10) expect(goneSince(miss(...missed), at(seen))).toBeNull();
      }),
      { numRuns: tries(5000) },
    );
  });

  it('until it is seen again, if readings come in order', () => {
    const inOrder = fc.array(minute, { maxLength: 14 }).map((missed) => missed.sort((a, b) => a - b));
    fc.assert(
      fc.property(inOrder, fc.option(minute), (missed, seen) => {
        const lastSeenAt = seen === null ? null : at(seen);
        let known: Absences = null;
        let wasGone = false;
        for (const one of missed) {
          known = mergeAbsences(known, at(one));
          const isGone = goneSince(known, lastSeenAt) !== null;
          expect(wasGone && !isGone).toBe(false);
          wasGone = isGone;
        }
      }),
      { numRuns: tries(5000) },
    );
  });
});

it.each([
  [null, null, false],
  [miss(5), null, true],
  [miss(5), at(4), true],
  [miss(5), at(5), false],
  [miss(5, 20), at(10), true],
])('knows whether there was an absence since: %j, last seen %j: %s', (absent, seenAt, isSo) => {
  expect(isMissed(absent, seenAt)).toBe(isSo);
});
