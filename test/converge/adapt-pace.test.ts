import { describe, expect, it } from 'vitest';
import { adaptPace, firstPace, type Pace, type PaceSample, slotsOf } from '../../src/converge/throttle.ts';
import { letIn, type Rule } from '../support/slow-server.ts';

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

describe('how much is asked of a tool at once', () => {
  it('is one, one more for each round that is quick, and never more than is configured', () => {
    const slots = slotsAfter(Array<PaceSample>(60).fill(quick));
    expect(slots.slice(0, 9)).toEqual([2, 2, 3, 3, 3, 4, 4, 4, 4]);
    expect(slots.at(-1)).toBe(8);
  });

  it('stays where answers are slow, and where not all of it was made use of', () => {
    expect(slotsAfter([{ ...quick, endedAtMs: 1001 }])).toEqual([1]);
    expect(slotsAfter([{ ...quick, isFull: false }])).toEqual([1]);
  });

  it('is halved by what is not answered, once for all that were under way then, down to one', () => {
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

  it('all come in, in at most 1.3 of what two at once take, and no account is made twice', () => {
    const two = rush(fixed(2));
    const adapted = rush(adapting());
    expect(adapted).toMatchObject({ isIn: 300, madeAgain: 0 });
    expect(adapted.seconds).toBeLessThanOrEqual(1.3 * two.seconds);
    // Asked for eight at once, most of its answers come after the caller has given up.
    const eight = rush(fixed(8));
    expect(eight.isIn).toBeLessThan(150);
    expect(adapted.lateAnswers).toBeLessThan(eight.lateAnswers / 10);
  });

  it('a server that has breath is asked as much as is configured', () => {
    const adapted = letIn(300, 8, adapting(), 3600);
    expect(adapted).toMatchObject({ isIn: 300, lateAnswers: 0 });
    expect(adapted.seconds).toBeLessThanOrEqual(1.1 * letIn(300, 8, fixed(8), 3600).seconds);
  });
});
