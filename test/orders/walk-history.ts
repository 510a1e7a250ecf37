import { expect } from 'vitest';
import type { PureEngine } from '../support/pure-engine.ts';
import { type Arrival, again, toInstant } from './arrivals.ts';
import { findWrong } from './check-states.ts';
import type { History } from './histories.ts';
import { type Reached, type Walk, type World, walkOrders } from './walk-orders.ts';

/** Longer than any wait after the last arrival. */
const restMin = 4 * 24 * 60;

/** Walks every order of the history, and checks that in the end everybody is where they belong. */
export async function walkHistory({ arrivals, roster }: History, world: World): Promise<Walk> {
  return await walk(arrivals, world, (reached) => {
    for (const { engine, order } of reached) expect(engine.wanted(), `in the order ${order}`).toEqual(roster);
  });
}

/** The same with each arrival lost, and with each repeated. */
export async function walkLossesAndRepeats({ arrivals }: History, world: World): Promise<Walk> {
  const variants = arrivals.flatMap((arrival, index) => [arrivals.toSpliced(index, 1), [...arrivals, again(arrival)]]);
  const total: Walk = { orders: 0, states: 0 };
  for (const variant of variants) {
    const { orders, states } = await walk(variant, world, () => {});
    total.orders += orders;
    total.states += states;
  }
  return total;
}

async function walk(
  arrivals: readonly Arrival[],
  world: World,
  onEnd: (reached: readonly Reached[]) => void,
): Promise<Walk> {
  return await walkOrders(arrivals, world, {
    onState({ engine, order, arrived }) {
      const wrong = findWrong(engine, arrived, arrivals);
      if (wrong.length > 0) expect.fail(`${wrong.join('; ')}; in the order ${order}, ${JSON.stringify(world)}`);
    },
    onEnd(reached) {
      // What a reading returns may depend on what it asks.
      if (!world.asksAsItHappened) return;
      expectSame(reached);
      for (const { engine, order } of reached) {
        engine.converge(toInstant(Math.max(...arrivals.map(({ atMin }) => atMin)) + restMin));
        expect(engine.roster(), `in the order ${order}`).toEqual(listReachable(engine));
      }
      onEnd(reached);
    },
  });
}

/** Nobody gets in without an address. */
function listReachable(engine: PureEngine): string[] {
  const rows = engine.memberships().filter(({ wanted, state }) => wanted && state !== 'waiting_email');
  return [...new Set(rows.map(({ groupId, trainerId }) => `${groupId}/${trainerId}`))].sort();
}

/** Whatever the order, the same facts are known, the same people are wanted, and removals are due at the same time. */
function expectSame(reached: readonly Reached[]): void {
  const [first] = reached;
  const removals = new Map<string, string>();
  for (const { engine, order } of reached) {
    const says = `in the order ${order} and ${first?.order}`;
    expect(engine.evidence(), says).toBe(first?.engine.evidence());
    expect(engine.wanted(), says).toEqual(first?.engine.wanted());
    for (const { state, groupId, trainerId, install, cause, removeAfter } of engine.memberships()) {
      if (state !== 'removing') continue;
      const [key, removal] = [`${groupId}/${trainerId} of ${install}`, `${cause} at ${removeAfter}`];
      expect(removal, `${key} ${says}`).toBe(removals.get(key) ?? removal);
      removals.set(key, removal);
    }
  }
}
