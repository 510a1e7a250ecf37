import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  applyBrake,
  type BrakeCounts,
  type BrakeLimits,
  brakeAllowance,
  brakeWindowMs,
  type Clearance,
  type DueRemoval,
  deliveredWindowMs,
  dependsOnCounts,
  nothingCounted,
} from '../../src/domain/brake.ts';
import { isExplicit, type RemovalCause, removalCauses } from '../../src/domain/standing.ts';
import { tries } from '../support/tries.ts';

const usual: BrakeLimits = { max: 25, maxFraction: 0.3 };

function due(count: number, changes: Partial<DueRemoval> = {}): DueRemoval[] {
  return Array.from({ length: count }, (_, index) => ({
    membershipId: index + 1,
    generation: 2,
    cause: 'contract_read_ended' as const,
    isOurs: true,
    canReturn: true,
    ...changes,
  }));
}

/** How many went by which clearance, and how many are held. */
function decide(removals: DueRemoval[], counts: Partial<BrakeCounts>, limits = usual) {
  const { cleared, held } = applyBrake(removals, { ...nothingCounted, ...counts }, limits);
  const by = Object.groupBy(cleared, ({ clearance }) => clearance);
  const counted = Object.entries(by).map(([clearance, { length }]) => [clearance, length]);
  const all = { ...Object.fromEntries(counted), held: held.length };
  return all as Partial<Record<Clearance, number>> & { held: number };
}

const went = (braked: number) => ({ braked, held: 0 });
const wasHeld = (held: number) => ({ held });

/** An install over time. Removed and held memberships count from then on. */
function openInstall(people: number, limits = usual) {
  let now = 0;
  let held = people;
  let waiting = 0;
  const passed: { at: number; clearance: Clearance }[] = [];
  const within = (ms: number, clearance?: Clearance) =>
    passed.filter((one) => one.at > now - ms && (clearance === undefined || one.clearance === clearance)).length;
  return {
    wait(ms: number) {
      now += ms;
    },
    remove(removals: DueRemoval[]) {
      const counts = {
        held,
        removed: within(brakeWindowMs),
        waiting,
        braked: within(brakeWindowMs, 'braked'),
        delivered: within(deliveredWindowMs, 'delivered'),
      };
      const decision = applyBrake(removals, counts, limits);
      for (const { clearance } of decision.cleared) passed.push({ at: now, clearance });
      held -= decision.cleared.length;
      waiting += decision.held.length;
      return decision;
    },
    countRemoved: () => passed.length,
    countWaiting: () => waiting,
  };
}

describe('the brake allows', () => {
  it.each([
    [0.7, 90, 63],
    [0.3, 10, 3],
    [0.29, 100, 29],
    [0.57, 100, 57],
    [0.07, 100, 7],
    [1, 41, 41],
    [0.0000001, 10_000_000, 1],
    [1 / 3, 9, 2],
  ])('%d of %i exactly, %i', (maxFraction, people, allowed) => {
    expect(brakeAllowance({ max: 1000, maxFraction }, people)).toBe(allowed);
  });

  it.each([
    [1, 1],
    [2, 1],
    [6, 1],
    [7, 2],
    [10, 3],
    [83, 24],
    [84, 25],
    [1000, 25],
    [0, 1],
  ])('of %i people %i', (people, allowed) => {
    expect(brakeAllowance(usual, people)).toBe(allowed);
  });

  it('no removal if the operator allows none', () => {
    expect(brakeAllowance({ ...usual, max: 0 }, 1000)).toBe(0);
  });

  it('one, even if the share is zero', () => {
    expect(brakeAllowance({ ...usual, maxFraction: 0 }, 1000)).toBe(1);
  });
});

describe('what is due', () => {
  it.each([
    ['1 of 1 goes', 1, 1, went(1)],
    ['2 of 2 are held', 2, 2, wasHeld(2)],
    ['1 of 6 goes', 1, 6, went(1)],
    ['2 of 6 are held', 2, 6, wasHeld(2)],
    ['3 of 10 go', 3, 10, went(3)],
    ['4 of 10 are held, all of them', 4, 10, wasHeld(4)],
    ['25 of 1,000 go', 25, 1000, went(25)],
    ['26 of 1,000 are held, all of them', 26, 1000, wasHeld(26)],
    ['1,000 of 1,000 are held', 1000, 1000, wasHeld(1000)],
  ])('in one go: %s', (_, count, people, expected) => {
    expect(decide(due(count), { held: people })).toEqual(expected);
  });

  it('is measured by the members, including those removed in the window', () => {
    expect(decide(due(1), { held: 8, removed: 2, braked: 2 })).toEqual(went(1));
    expect(decide(due(1), { held: 7, removed: 3, braked: 3 })).toEqual(wasHeld(1));
  });

  it('adds to the removals that wait for an operator', () => {
    expect(decide(due(1), { held: 10, waiting: 2 })).toEqual(went(1));
    expect(decide(due(1), { held: 10, waiting: 3 })).toEqual(wasHeld(1));
  });

  it('of an install with nothing due is nothing', () => {
    expect(decide([], { held: 10, braked: 99, waiting: 99 })).toEqual({ held: 0 });
  });
});

describe('over 24 hours', () => {
  it.each([
    [1000, 25],
    [10, 3],
    [2, 1],
    [1, 1],
  ])('one by one, of %i people %i go', (people, allowed) => {
    const install = openInstall(people);
    for (let count = 0; count < people; count += 1) {
      install.remove(due(1));
      install.wait(Math.floor((brakeWindowMs - 1) / people));
    }
    expect(install.countRemoved()).toBe(allowed);
    expect(install.countWaiting()).toBe(people - allowed);
  });

  it('older removals do not count', () => {
    const install = openInstall(10);
    expect(install.remove(due(3)).held).toEqual([]);
    install.wait(brakeWindowMs - 1);
    const { held } = install.remove(due(1));
    expect(held).toHaveLength(1);

    const other = openInstall(10);
    other.remove(due(3));
    other.wait(brakeWindowMs);
    // Of the seven that are left.
    expect(other.remove(due(2)).held).toEqual([]);
    expect(other.remove(due(1)).held).toHaveLength(1);
  });

  it('never lets more pass than allowed, in any portions', () => {
    const portions = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 30 });
    const weak = fc.constantFrom(...removalCauses.filter((cause) => !isExplicit(cause)));
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 500 }), portions, weak, (people, sizes, cause) => {
        const install = openInstall(people);
        let left = people;
        for (const size of sizes) {
          const count = Math.min(size, left);
          left -= count;
          const { cleared, held } = install.remove(due(count, { cause }));
          // Whole or not at all.
          expect([cleared.length, held.length]).toContain(count);
          expect(cleared.length * held.length).toBe(0);
          install.wait(brakeWindowMs / 31);
        }
        expect(install.countRemoved()).toBeLessThanOrEqual(brakeAllowance(usual, people));
      }),
      { numRuns: tries(2000) },
    );
  });
});

describe('an end that was delivered', () => {
  const delivered = (count: number) => due(count, { cause: 'contract_ended' });

  it.each([
    ['2 of 2 go', 2, 2, { delivered: 2, held: 0 }],
    ['25 of 30 go', 25, 30, { delivered: 25, held: 0 }],
    ['26 of 1,000 are held, all of them', 26, 1000, wasHeld(26)],
    ['400 of 1,000 are held, all of them', 400, 1000, wasHeld(400)],
    ['400 of 400 are held, all of them', 400, 400, wasHeld(400)],
  ])('in one go: %s', (_, count, people, expected) => {
    expect(decide(delivered(count), { held: people })).toEqual(expected);
  });

  it('is exempt up to the limit of 10 minutes, and counted beyond', () => {
    const counts = { held: 1000, delivered: 20 };
    expect(decide(delivered(5), counts)).toEqual({ delivered: 5, held: 0 });
    expect(decide(delivered(6), counts)).toEqual(wasHeld(6));
  });

  it('passes at that rate for ever', () => {
    const install = openInstall(1000);
    for (let round = 0; round < 16; round += 1) {
      expect(install.remove(delivered(25)).held).toEqual([]);
      install.wait(deliveredWindowMs);
    }
    expect(install.countRemoved()).toBe(400);
  });

  it('is held if 400 come within minutes, however they are spread', () => {
    const install = openInstall(1000);
    for (let count = 0; count < 400; count += 1) {
      install.remove(delivered(1));
      install.wait(1000);
    }
    expect(install.countRemoved()).toBeLessThanOrEqual(2 * 25);
    expect(install.countRemoved() + install.countWaiting()).toBe(400);
  });

  it('does not use up what the brake allows for others', () => {
    const both = [...delivered(10), ...due(3)];
    expect(decide(both, { held: 10 })).toEqual({ delivered: 10, braked: 3, held: 0 });
    expect(decide([...delivered(10), ...due(4)], { held: 10 })).toEqual({ delivered: 10, held: 4 });
    expect(decide(due(3), { held: 10, delivered: 20 })).toEqual(went(3));
  });

  it('is exempt even in a tool that cannot take a trainer back', () => {
    const final = due(2, { cause: 'contract_ended', canReturn: false });
    expect(decide(final, { held: 10 })).toEqual({ delivered: 2, held: 0 });
  });

  it('is the only cause that is exempt', () => {
    const others = removalCauses.filter((cause) => cause !== 'contract_ended');
    for (const cause of others) {
      expect(decide(due(1, { cause }), { held: 10 }), cause).not.toHaveProperty('delivered');
    }
  });
});

describe('with max 0', () => {
  const none = { max: 0, maxFraction: 1 };

  it.each<RemovalCause>(removalCauses.filter((cause) => !isAskedFor(cause)))('no removal for %s passes', (cause) => {
    expect(decide(due(1, { cause }), { held: 1000 }, none)).toEqual(wasHeld(1));
  });

  it('only what an operator decided passes', () => {
    for (const cause of removalCauses.filter(isAskedFor)) {
      expect(decide(due(9, { cause }), { held: 9 }, none)).toEqual({ approved: 9, held: 0 });
    }
  });
});

function isAskedFor(cause: RemovalCause): boolean {
  return cause === 'retired' || cause === 'contract_ended_by_operator';
}

describe('who is not ours', () => {
  it('passes without being counted, because nobody will be removed', () => {
    const strangers = due(50, { isOurs: false, cause: 'link_removed', canReturn: false });
    expect(decide([...strangers, ...due(3)], { held: 10 })).toEqual({ not_ours: 50, braked: 3, held: 0 });
    expect(decide(strangers, { held: 1 }, { max: 0, maxFraction: 0 })).toEqual({ not_ours: 50, held: 0 });
  });
});

describe('in a tool that cannot take a trainer back', () => {
  it.each(removalCauses.map((cause) => [cause, isExplicit(cause)] as const))(
    '%s goes only where it is explicit: %s',
    (cause, goes) => {
      const { held } = decide(due(1, { cause, canReturn: false }), { held: 1000 });
      expect(held).toBe(goes ? 0 : 1);
    },
  );

  it('held removals do not hold up explicit ends', () => {
    const weak = due(5, { cause: 'link_removed', canReturn: false });
    const explicit = due(3, { canReturn: false });
    expect(decide([...weak, ...explicit], { held: 10 })).toEqual({ braked: 3, held: 5 });
  });
});

describe('in every situation', () => {
  const removal = fc.record({
    cause: fc.constantFrom(...removalCauses),
    isOurs: fc.boolean(),
    isApproved: fc.boolean(),
    canReturn: fc.boolean(),
  });
  const removals = fc
    .array(removal, { maxLength: 60 })
    .map((all) => all.map((one, index) => ({ ...one, membershipId: index, generation: 1 })));
  const count = fc.integer({ min: 0, max: 40 });
  const counts = fc.record({ held: count, removed: count, braked: count, delivered: count, waiting: count });
  const limits = fc.record({
    max: count,
    maxFraction: fc.double({ min: 0, max: 1, noNaN: true }),
  });

  it('each removal either passes or is held, once', () => {
    fc.assert(
      fc.property(removals, counts, limits, (all, known, most) => {
        const { cleared, held } = applyBrake(all, known, most);
        const ids = [...cleared.map((one) => one.removal), ...held].map((one) => one.membershipId);
        expect(ids.sort((a, b) => a - b)).toEqual(all.map((one) => one.membershipId));
        const braked = cleared.filter(({ clearance }) => clearance === 'braked').length;
        const people = known.held + known.removed;
        expect(braked).toBeLessThanOrEqual(brakeAllowance(most, people));
      }),
      { numRuns: tries(3000) },
    );
  });

  it('the counts decide nothing if dependsOnCounts says so', () => {
    let undecided = 0;
    fc.assert(
      fc.property(removals, counts, limits, (all, known, most) => {
        const { delivered } = known;
        if (dependsOnCounts(all, delivered, most)) return;
        undecided += 1;
        const { cleared } = applyBrake(all, { ...nothingCounted, delivered }, most);
        expect(applyBrake(all, known, most)).toMatchObject({ cleared, held: [] });
      }),
      { numRuns: tries(3000) },
    );
    expect(undecided).toBeGreaterThan(10);
  });
});
