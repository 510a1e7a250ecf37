import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openForTest, sqlite } from '../../support/databases.ts';
import { tries } from '../../support/tries.ts';
import {
  type Fate,
  type ItemWork,
  longestOnItsWayMs,
  openUsageWorld,
  type UsageWorld,
} from '../../support/usage-harness.ts';

/**
 * One trainer whose contract ends and is renewed, again and again, whenever: as
 * `any-story-in-full.test.ts`, but each contract has to come to what was done under it.
 */

type Step =
  | { step: 'work'; slot: number; seconds: number; labels: number }
  | { step: 'delete'; pick: number }
  | { step: 'read'; isComplete: boolean; breaksAfter: number | null }
  | { step: 'report'; fate: Fate | null }
  | { step: 'learn' }
  | { step: 'wait'; minutes: number }
  /** Whether it is known that one has ended before the other begins, so that they are taken out. */
  | { step: 'renew'; gapMinutes: number; isNoticed: boolean };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      step: fc.constant('work' as const),
      slot: fc.nat(3),
      seconds: fc.nat(300),
      labels: fc.nat(5),
    }),
  },
  fc.record({ step: fc.constant('delete' as const), pick: fc.nat(9) }),
  {
    weight: 3,
    arbitrary: fc.record({
      step: fc.constant('read' as const),
      isComplete: fc.boolean(),
      breaksAfter: fc.constantFrom(null, null, null, 1),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      step: fc.constant('report' as const),
      fate: fc.constantFrom(null, null, null, 'lost', 'unheard', 'crash'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ step: fc.constant('learn' as const) }) },
  fc.record({ step: fc.constant('wait' as const), minutes: fc.integer({ min: 1, max: 700 }) }),
  {
    weight: 2,
    arbitrary: fc.record({
      step: fc.constant('renew' as const),
      gapMinutes: fc.integer({ min: 0, max: 300 }),
      isNoticed: fc.boolean(),
    }),
  },
);

const minuteMs = 60_000;

it('comes to what was done under each contract, once nothing goes wrong any more', {
  timeout: 120_000,
}, async () => {
  const steps = fc.array(step, { minLength: 8, maxLength: 20 });
  const zones = fc.constantFrom('UTC', 'America/New_York', 'Asia/Kathmandu');
  const play = fc.asyncProperty(zones, steps, async (timeZone, all) => {
    const story = await openStory(timeZone);
    for (const one of all) await take(story, one);
    await settle(story.world);
    const { items, contracts, world } = story;
    for (const [index, { contractId, startsAt }] of contracts.entries()) {
      const endsAt = contracts[index + 1]?.startsAt ?? '9999';
      const theirs = [...items.values()].filter(({ at }) => at >= startsAt && at < endsAt);
      const sum = (name: 'seconds' | 'labels') => theirs.reduce((total, item) => total + item[name], 0);
      const done = { seconds: sum('seconds'), labels: sum('labels'), tasks: theirs.length };
      expect(world.consumed(contractId)).toEqual(done);
    }
  });
  await fc.assert(play, { numRuns: tries(20) });
});

interface Story {
  world: UsageWorld;
  items: Map<string, ItemWork>;
  memberId: string;
  trainerId: string;
  /** One after the other. */
  contracts: { contractId: string; startsAt: string }[];
  /** Whether anybody has heard of the last of them: who was on one that is over is not asked. */
  isKnown: boolean;
  /** What was done before may not come to less: they were taken out, and it was theirs. */
  keptUntil: string;
}

async function openStory(timeZone: string): Promise<Story> {
  const world = await openUsageWorld(openForTest(await sqlite.createMigrated()), { timeZone });
  await world.link('signs');
  const { contractId, trainerId, memberId } = world.hire();
  await world.learn();
  const items = new Map<string, ItemWork>();
  world.tool.items.set('signs', items);
  const contracts = [{ contractId, startsAt: world.engine.clock.now().toISOString() }];
  return { world, items, memberId, trainerId, contracts, isKnown: true, keptUntil: '' };
}

async function take(story: Story, one: Step): Promise<void> {
  const { world, items } = story;
  const { tool, fates } = world;
  await world.pass(minuteMs);
  switch (one.step) {
    case 'work':
      work(story, one);
      return;
    case 'delete': {
      const [id, item] = [...items][one.pick] ?? [];
      if (id !== undefined && item !== undefined && item.at > story.keptUntil) items.delete(id);
      return;
    }
    case 'read':
      tool.breaksAfter = one.breaksAfter;
      await world.read(one.isComplete);
      return;
    case 'report':
      if (one.fate !== null) fates.push(one.fate);
      await world.report();
      fates.length = 0;
      return;
    case 'learn':
      await world.learn();
      story.isKnown = true;
      return;
    case 'wait':
      await world.pass(one.minutes * minuteMs);
      return;
    case 'renew':
      await renew(story, one);
  }
}

/** What was done under one contract is not gone on with under another. */
function work(
  { world, items, memberId, contracts, keptUntil }: Story,
  { slot, seconds, labels }: Extract<Step, { step: 'work' }>,
): void {
  const now = world.engine.clock.now().toISOString();
  const id = `${contracts.length} ${slot}`;
  const { seconds: before = 0, labels: had = 0, at = now } = items.get(id) ?? {};
  const most = at > keptUntil ? labels : Math.max(labels, had);
  items.set(id, { memberId, seconds: before + seconds, labels: most, at, changedAt: now });
}

async function renew(story: Story, { gapMinutes, isNoticed }: Extract<Step, { step: 'renew' }>): Promise<void> {
  const { world, items, memberId, trainerId, contracts } = story;
  const { engine, sandbox, jobId } = world;
  if (!story.isKnown) await world.learn();
  world.tool.breaksAfter = null;
  // What was taken away before they are taken out is known by then.
  if (isNoticed) await world.read(true);
  sandbox.endContract(contracts.at(-1)?.contractId ?? '');
  const half = (gapMinutes * minuteMs) / 2;
  await world.pass(half);
  if (isNoticed) {
    await world.learn();
    // Of that day nothing falls any more, and of this zone it ends within a day.
    const endOfDay = engine.clock.now().getTime() + 24 * 60 * minuteMs;
    story.keptUntil = new Date(endOfDay).toISOString();
  } else {
    const at = engine.clock.now().toISOString();
    items.set(`late ${contracts.length}`, { memberId, seconds: 30, labels: 1, at });
  }
  await world.pass(half + 1000);
  const { contractId } = sandbox.hire({ jobId, trainers: [{ opentrainUserId: trainerId }] });
  contracts.push({ contractId, startsAt: engine.clock.now().toISOString() });
  if (isNoticed) await world.learn();
  story.isKnown = isNoticed;
}

/** Nothing goes wrong any more, until there is nothing left to do. */
async function settle(world: UsageWorld): Promise<void> {
  await world.arrive();
  world.tool.breaksAfter = null;
  world.fates.length = 0;
  await world.learn();
  // Until the last day has begun in UTC, too.
  world.engine.clock.advance(24 * 60 * minuteMs);
  for (let round = 0; round < 3; round += 1) {
    world.engine.clock.advance(longestOnItsWayMs);
    await world.read(true);
    await world.report();
  }
  expect(await world.report()).toMatchObject({ outcome: 'clean', left: 0, held: 0 });
}
