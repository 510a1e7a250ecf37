import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openForTest, sqlite } from '../../support/databases.ts';
import { tries } from '../../support/tries.ts';
import { type Fate, longestOnItsWayMs, openUsageWorld, type UsageWorld } from '../../support/usage-harness.ts';

/** As `any-story.test.ts`, with the database and the sandbox in the place of the model. */

type Step =
  | { step: 'work'; item: number; seconds: number; labels: number }
  | { step: 'delete'; item: number }
  | { step: 'read'; isComplete: boolean; breaksAfter: number | null }
  | { step: 'report'; fate: Fate | null }
  | { step: 'arrive' }
  | { step: 'wait'; minutes: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      step: fc.constant('work' as const),
      item: fc.nat(5),
      seconds: fc.nat(300),
      labels: fc.nat(5),
    }),
  },
  fc.record({ step: fc.constant('delete' as const), item: fc.nat(5) }),
  {
    weight: 3,
    arbitrary: fc.record({
      step: fc.constant('read' as const),
      isComplete: fc.boolean(),
      breaksAfter: fc.constantFrom(null, null, 0, 1),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      step: fc.constant('report' as const),
      fate: fc.constantFrom(null, null, 'lost', 'unheard', 'crash'),
    }),
  },
  fc.record({ step: fc.constant('arrive' as const) }),
  fc.record({ step: fc.constant('wait' as const), minutes: fc.integer({ min: 1, max: 1500 }) }),
);

const minuteMs = 60_000;

it('comes to what the tool has, once nothing goes wrong any more', {
  timeout: 120_000,
}, async () => {
  const play = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 15 }), async (steps) => {
    const { world, people } = await openStory();
    for (const one of steps) await take(world, people, one);
    await settle(world);
    for (const { contractId, memberId } of people) {
      const items = [...(world.tool.items.get('signs')?.values() ?? [])];
      const theirs = items.filter((item) => item.memberId === memberId);
      const sum = (name: 'seconds' | 'labels') => theirs.reduce((total, item) => total + item[name], 0);
      const due = { seconds: sum('seconds'), labels: sum('labels'), tasks: theirs.length };
      expect(world.consumed(contractId)).toEqual(due);
    }
  });
  await fc.assert(play, { numRuns: tries(12) });
});

async function openStory() {
  const world = await openUsageWorld(openForTest(await sqlite.createMigrated()));
  await world.link('signs');
  const people = [world.hire(), world.hire()];
  await world.learn();
  world.tool.items.set('signs', new Map());
  return { world, people };
}

/** Nothing goes wrong any more, until there is nothing left to do. */
async function settle(world: UsageWorld): Promise<void> {
  await world.arrive();
  world.tool.breaksAfter = null;
  world.fates.length = 0;
  for (let round = 0; round < 3; round += 1) {
    world.engine.clock.advance(longestOnItsWayMs);
    await world.read(true);
    await world.report();
  }
  expect(await world.report()).toMatchObject({ outcome: 'clean', left: 0, held: 0 });
}

async function take(world: UsageWorld, people: { memberId: string }[], one: Step): Promise<void> {
  const { engine, tool, fates } = world;
  await world.pass(minuteMs);
  const now = engine.clock.now().toISOString();
  const items = tool.items.get('signs');
  switch (one.step) {
    case 'work': {
      const known = items?.get(String(one.item));
      const memberId = people[one.item % 2]?.memberId ?? '';
      const seconds = (known?.seconds ?? 0) + one.seconds;
      const at = known?.at ?? now;
      items?.set(String(one.item), { memberId, seconds, labels: one.labels, at, changedAt: now });
      return;
    }
    case 'delete':
      items?.delete(String(one.item));
      return;
    case 'read':
      tool.breaksAfter = one.breaksAfter;
      await world.read(one.isComplete);
      return;
    case 'report':
      if (one.fate !== null) fates.push(one.fate);
      await world.report();
      fates.length = 0;
      return;
    case 'arrive':
      await world.arrive();
      return;
    case 'wait':
      await world.pass(one.minutes * minuteMs);
  }
}
