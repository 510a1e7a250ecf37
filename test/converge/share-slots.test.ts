import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Slots, shareSlots } from '../../src/converge/throttle.ts';
import { tries } from '../support/tries.ts';

function share(waiting: string[], underway: Record<string, number>, pace: number, others: Partial<Slots> = {}) {
  const slots = { pace, max: pace, isShared: false, ...others };
  return Object.fromEntries(shareSlots(waiting, new Map(Object.entries(underway)), slots));
}

describe('the slots of a tool', () => {
  it.each<[string, string[], Record<string, number>, number, Record<string, number>]>([
    ['all go to the only install', ['acme'], {}, 8, { acme: 8 }],
    ['what is free goes to the only install', ['acme'], { acme: 3 }, 8, { acme: 5 }],
    ['none is given where no install waits', [], { acme: 3 }, 8, {}],
    ['none goes where none is free', ['acme', 'globex'], { acme: 4, globex: 4 }, 8, {}],
    ['half goes to each of two', ['acme', 'globex'], {}, 8, { acme: 4, globex: 4 }],
    ['are evened out', ['acme', 'globex'], { acme: 3 }, 8, { acme: 1, globex: 4 }],
    ['go to the install that has less', ['acme', 'globex'], { acme: 4 }, 8, { globex: 4 }],
    ['go round three', ['c', 'a', 'b'], {}, 8, { c: 3, a: 3, b: 2 }],
    ['go to the first in turn where one is left', ['b', 'a'], {}, 1, { b: 1 }],
    ['never more than half to one while another is at work', ['acme'], { globex: 1 }, 8, { acme: 4 }],
    ['never more than half to one that had it all', ['acme', 'globex'], { acme: 7 }, 8, { globex: 1 }],
    ['one at least to each, of the two there are', ['acme', 'globex'], {}, 2, { acme: 1, globex: 1 }],
    ['one to the only install where there is one', ['acme'], {}, 1, { acme: 1 }],
    ['one of three while others wait', ['acme', 'globex'], {}, 3, { acme: 1, globex: 1 }],
    ['none where more are under way than there may be', ['acme'], { globex: 9 }, 8, {}],
    [
      'one to each in a long row',
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
