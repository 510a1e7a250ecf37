import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  adaptPace,
  firstPace,
  type Pace,
  type PaceSample,
  type Slots,
  shareSlots,
  slotsOf,
} from '../../src/converge/throttle.ts';
import { letIn, type Rule } from '../support/slow-server.ts';
import { tries } from '../support/tries.ts';

function share(waiting: string[], underway: Record<string, number>, pace: number, others: Partial<Slots> = {}) {
  const slots = { pace, max: pace, isShared: false, ...others };
  return Object.fromEntries(shareSlots(waiting, new Map(Object.entries(underway)), slots));
}

describe('the slots of a tool', () => {
  it.each<[string, string[], Record<string, number>, number, Record<string, number>]>([
    ['all go to the only install', ['acme'], {}, 8, { acme: 8 }],
    ['what is free goes to the only install', ['acme'], { acme: 3 }, 8, { acme: 5 }],
    ['none is given if no install waits', [], { acme: 3 }, 8, {}],
    ['none is given if none is free', ['acme', 'globex'], { acme: 4, globex: 4 }, 8, {}],
    ['half goes to each of two', ['acme', 'globex'], {}, 8, { acme: 4, globex: 4 }],
    ['are evened out between two', ['acme', 'globex'], { acme: 3 }, 8, { acme: 1, globex: 4 }],
    ['go to the install that has less', ['acme', 'globex'], { acme: 4 }, 8, { globex: 4 }],
    ['go round three', ['c', 'a', 'b'], {}, 8, { c: 3, a: 3, b: 2 }],
    ['the last one goes to the first in turn', ['b', 'a'], {}, 1, { b: 1 }],
    ['never more than half to one while another is at work', ['acme'], { globex: 1 }, 8, { acme: 4 }],
    ['never more than half to one that had it all', ['acme', 'globex'], { acme: 7 }, 8, { globex: 1 }],
    ['each of two gets at least one', ['acme', 'globex'], {}, 2, { acme: 1, globex: 1 }],
    ['a single one goes to the only install', ['acme'], {}, 1, { acme: 1 }],
    ['one of three while others wait', ['acme', 'globex'], {}, 3, { acme: 1, globex: 1 }],
    ['none is given if more calls run than there are slots', ['acme'], { globex: 9 }, 8, {}],
    [
      'each in a long row gets one',
      ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'],
      {},
      8,
      { a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1 },
    ],
  ])('%s', (_, waiting, underway, slots, shares) => {
    expect(share(waiting, underway, slots)).toEqual(shares);
  });

  it.each<[string, string[], Record<string, number>, number, Record<string, number>]>([
    ['half of all go to one that is alone', ['acme'], {}, 8, { acme: 4 }],
    ['one goes to one that is alone in a slow tool', ['acme'], {}, 1, { acme: 1 }],
    ['one goes to another beside a call that hangs in a slow tool', ['globex'], { acme: 1 }, 1, { globex: 1 }],
    ['half go to another beside half that hang', ['acme', 'globex'], { acme: 4 }, 8, { globex: 4 }],
    ['one goes to another beside what was begun before the tool was slow', ['globex'], { acme: 4 }, 2, { globex: 1 }],
    ['none goes to a third beside two that hang in a slow tool', ['c'], { acme: 1, globex: 1 }, 1, {}],
    ['none goes beyond the concurrency', ['globex'], { acme: 8 }, 2, {}],
  ])('of a shared tool, of at most 8: %s', (_, waiting, underway, pace, shares) => {
    expect(share(waiting, underway, pace, { max: 8, isShared: true })).toEqual(shares);
  });

  it('are never given twice, nor more than half to one while another waits', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
    const underway = fc.dictionary(name, fc.integer({ min: 1, max: 6 }));
    const waiting = fc.uniqueArray(name, { minLength: 1 });
    fc.assert(
      fc.property(waiting, underway, fc.integer({ min: 1, max: 20 }), (asking, busy, slots) => {
        const shares = share(asking, busy, slots);
        const sum = (counts: object) => Object.values(counts).reduce((a, b) => a + b, 0);
        expect(sum(shares)).toBeLessThanOrEqual(Math.max(0, slots - sum(busy)));
        const others = new Set([...asking, ...Object.keys(busy)]);
        for (const [install, count] of Object.entries(shares)) {
          expect(asking).toContain(install);
          const most = others.size > 1 ? Math.max(1, Math.floor(slots / 2)) : slots;
          expect(count + (busy[install] ?? 0)).toBeLessThanOrEqual(most);
        }
        // No waiting install is left without a slot while another gets a second one.
        const counts = asking.map((install) => (shares[install] ?? 0) + (busy[install] ?? 0));
        const given = asking.filter((install) => shares[install] !== undefined);
        const fullest = Math.max(0, ...given.map((one) => (shares[one] ?? 0) + (busy[one] ?? 0)));
        expect(fullest - Math.min(...counts)).toBeLessThanOrEqual(1);
      }),
      { numRuns: tries(3000) },
    );
  });
});

const limits = { maxAtOnce: 8, quickMs: 1000 };
const quick: PaceSample = { begunAtMs: 0, endedAtMs: 100, isUnanswered: false, isFull: true };

/** Slots after each of these. */
function slotsAfter(trips: PaceSample[], first: Pace = firstPace): number[] {
  let pace = first;
  return trips.map((trip) => {
    pace = adaptPace(pace, trip, limits);
    return slotsOf(pace);
  });
}

describe('the number of calls at once', () => {
  it('begins with one and grows by one with each quick round, up to the configured maximum', () => {
    const slots = slotsAfter(Array<PaceSample>(60).fill(quick));
    expect(slots.slice(0, 9)).toEqual([2, 2, 3, 3, 3, 4, 4, 4, 4]);
    expect(slots.at(-1)).toBe(8);
  });

  it('stays if answers are slow, or if not all slots were used', () => {
    expect(slotsAfter([{ ...quick, endedAtMs: 1001 }])).toEqual([1]);
    expect(slotsAfter([{ ...quick, isFull: false }])).toEqual([1]);
  });

  it('is halved when calls are not answered, once for all that ran together, down to one', () => {
    const lost = (begunAtMs: number, endedAtMs: number): PaceSample => ({
      begunAtMs,
      endedAtMs,
      isUnanswered: true,
      isFull: true,
    });
    const eight = { atOnce: 8.5, slowedAtMs: 0 };
    const together = Array.from({ length: 8 }, (_, index) => lost(10 * index, 15_000 + index));
    expect(slotsAfter(together, eight)).toEqual(Array(8).fill(4));
    const oneByOne = [1, 2, 3, 4].map((round) => lost(20_000 * round, 20_000 * round + 15_000));
    expect(slotsAfter(oneByOne, eight)).toEqual([4, 2, 1, 1]);
  });
});

describe('300 people and a server with 30 % of a core', () => {
  const fixed = (count: number): Rule => ({ slots: () => count, report: () => undefined });

  function adapting(): Rule {
    let pace = firstPace;
    return {
      slots: () => slotsOf(pace),
      report(trip) {
        pace = adaptPace(pace, trip, { maxAtOnce: 8, quickMs: 3750 });
      },
    };
  }

  const rush = (rule: Rule) => letIn(300, 0.3, rule, 3600);

  it('all get in within 1.3 times the time of two calls at once, and no account is made twice', () => {
    const two = rush(fixed(2));
    const adapted = rush(adapting());
    expect(adapted).toMatchObject({ isIn: 300, madeAgain: 0 });
    expect(adapted.seconds).toBeLessThanOrEqual(1.3 * two.seconds);
    // Asked for eight at once, most of its answers come after the caller has given up.
    const eight = rush(fixed(8));
    expect(eight.isIn).toBeLessThan(150);
    expect(adapted.lateAnswers).toBeLessThan(eight.lateAnswers / 10);
  });

  it('a fast server gets the configured number of calls', () => {
    const adapted = letIn(300, 8, adapting(), 3600);
    expect(adapted).toMatchObject({ isIn: 300, lateAnswers: 0 });
    expect(adapted.seconds).toBeLessThanOrEqual(1.1 * letIn(300, 8, fixed(8), 3600).seconds);
  });
});
