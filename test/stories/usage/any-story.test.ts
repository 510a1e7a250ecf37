import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decideHeld } from '../../../src/usage/due/decide-held.ts';
import { listHeld } from '../../../src/usage/due/held-store.ts';
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
 * Whatever is read, edited, deleted, lost or broken off, in any order: two trainers beside each other, and one trainer
 * whose contract ends and is renewed again and again.
 */

type CommonStep =
  | { step: 'read'; isComplete: boolean; breaksAfter: number | null }
  | { step: 'report'; fate: Fate | null }
  | { step: 'wait'; minutes: number };

type StoryStep =
  | CommonStep
  | { step: 'work'; item: number; seconds: number; labels: number }
  | { step: 'delete'; item: number }
  | { step: 'arrive' };

type RenewalStep =
  | CommonStep
  | { step: 'work'; slot: number; seconds: number; labels: number }
  | { step: 'delete'; pick: number }
  | { step: 'learn' }
  /** Whether the end of one is known before the other begins, so that they are taken out. */
  | { step: 'renew'; gapMinutes: number; isNoticed: boolean };

const step = <Name extends string, Rest>(
  weight: number,
  name: Name,
  rest: { [Key in keyof Rest]: fc.Arbitrary<Rest[Key]> },
) => ({
  weight,
  arbitrary: fc.record({ step: fc.constant(name), ...rest }) as fc.Arbitrary<{ step: Name } & Rest>,
});
const amount = { seconds: fc.nat(300), labels: fc.nat(5) };
const read = (breaksAfter: fc.Arbitrary<number | null>) => step(3, 'read', { isComplete: fc.boolean(), breaksAfter });
const report = (weight: number, ...well: null[]) =>
  step(weight, 'report', { fate: fc.constantFrom<Fate | null>(...well, 'lost', 'unheard', 'crash') });
const waitUpTo = (max: number) => step(1, 'wait', { minutes: fc.integer({ min: 1, max }) });

const storyStep: fc.Arbitrary<StoryStep> = fc.oneof(
  step(3, 'work', { item: fc.nat(5), ...amount }),
  step(1, 'delete', { item: fc.nat(5) }),
  read(fc.constantFrom(null, null, 0, 1)),
  report(3, null, null),
  step(1, 'arrive', {}),
  waitUpTo(1500),
);

const renewalStep: fc.Arbitrary<RenewalStep> = fc.oneof(
  step(6, 'work', { slot: fc.nat(3), ...amount }),
  step(1, 'delete', { pick: fc.nat(9) }),
  read(fc.constantFrom(null, null, null, 1)),
  report(2, null, null, null),
  step(2, 'learn', {}),
  waitUpTo(700),
  step(2, 'renew', { gapMinutes: fc.integer({ min: 0, max: 300 }), isNoticed: fc.boolean() }),
);

const timeout = 120_000;
const minuteMs = 60_000;

it('ends with what the tool has, once nothing fails any more', { timeout }, async () => {
  const play = fc.asyncProperty(fc.array(storyStep, { minLength: 5, maxLength: 15 }), async (steps) => {
    const { world, items } = await openWork();
    const people = [world.hire(), world.hire()];
    await world.learn();
    for (const one of steps) {
      await world.pass(minuteMs);
      await takeInStory(world, items, people, one);
    }
    await settle(world);
    for (const { contractId, memberId } of people) {
      expect(world.consumed(contractId)).toEqual(sumOf(items, (item) => item.memberId === memberId));
    }
  });
  await fc.assert(play, { numRuns: tries(12) });
});

it('ends with what was done under each contract, once nothing fails any more', { timeout }, async () => {
  const steps = fc.array(renewalStep, { minLength: 8, maxLength: 20 });
  const zones = fc.constantFrom('UTC', 'America/New_York', 'Asia/Kathmandu');
  const play = fc.asyncProperty(zones, steps, async (timeZone, all) => {
    const { world, items } = await openWork(timeZone);
    const { contractId, trainerId, memberId } = world.hire();
    await world.learn();
    const contracts = [{ contractId, startsAt: world.engine.clock.now().toISOString(), endsAt: '9999' }];
    const renewal: Renewal = { world, items, memberId, trainerId, contracts, isKnown: true, keptUntil: '' };
    for (const one of all) {
      await world.pass(minuteMs);
      await takeInRenewal(renewal, one);
    }
    await world.arrive();
    await world.learn();
    // Until the last day has begun in UTC, too.
    world.engine.clock.advance(24 * 60 * minuteMs);
    const isOf = (at: string, { startsAt, endsAt }: Contract) => at >= startsAt && at <= endsAt;
    const between = sumOf(items, ({ at }) => !contracts.some((one) => isOf(at, one)));
    expect(await discardHeld(world)).toEqual(between.seconds);
    await settle(world);
    for (const one of contracts) {
      expect(world.consumed(one.contractId)).toEqual(sumOf(items, ({ at }) => isOf(at, one)));
    }
  });
  await fc.assert(play, { numRuns: tries(20) });
});

type Items = Map<string, ItemWork>;

async function openWork(timeZone = 'UTC') {
  const world = await openUsageWorld(openForTest(await sqlite.createMigrated()), { timeZone });
  await world.link('signs');
  const items: Items = new Map();
  world.tool.items.set('signs', items);
  return { world, items };
}

async function takeCommon(world: UsageWorld, one: CommonStep): Promise<void> {
  switch (one.step) {
    case 'read':
      world.tool.breaksAfter = one.breaksAfter;
      await world.read(one.isComplete);
      return;
    case 'report':
      if (one.fate !== null) world.fates.push(one.fate);
      await world.report();
      world.fates.length = 0;
      return;
    case 'wait':
      await world.pass(one.minutes * minuteMs);
  }
}

/** An operator discards work outside all contracts. @returns its seconds */
async function discardHeld(world: UsageWorld): Promise<number> {
  world.tool.breaksAfter = null;
  await world.read(true);
  await world.report();
  const held = await listHeld(world.ctx);
  for (const { id } of held) await decideHeld(world.ctx, { actor: 'ada', at: '' }, id, null);
  return held.reduce((sum, { counts }) => sum + (counts.seconds ?? 0), 0);
}

/** Goes on without faults until nothing is left to do. */
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

function sumOf(items: Items, isTheirs: (item: ItemWork) => boolean) {
  const theirs = [...items.values()].filter(isTheirs);
  const sum = (name: 'seconds' | 'labels') => theirs.reduce((total, item) => total + item[name], 0);
  return { seconds: sum('seconds'), labels: sum('labels'), tasks: theirs.length };
}

async function takeInStory(
  world: UsageWorld,
  items: Items,
  people: readonly { memberId: string }[],
  one: StoryStep,
): Promise<void> {
  switch (one.step) {
    case 'work': {
      const now = world.engine.clock.now().toISOString();
      const known = items.get(String(one.item));
      const memberId = people[one.item % 2]?.memberId ?? '';
      const seconds = (known?.seconds ?? 0) + one.seconds;
      const at = known?.at ?? now;
      items.set(String(one.item), { memberId, seconds, labels: one.labels, at, changedAt: now });
      return;
    }
    case 'delete':
      items.delete(String(one.item));
      return;
    case 'arrive':
      await world.arrive();
      return;
    default:
      await takeCommon(world, one);
  }
}

interface Contract {
  contractId: string;
  startsAt: string;
  endsAt: string;
}

interface Renewal {
  world: UsageWorld;
  items: Items;
  memberId: string;
  trainerId: string;
  /** One after the other. */
  contracts: Contract[];
  /** Whether the last one is known. The participants of an ended contract are not read. */
  isKnown: boolean;
  /** Whether earlier work may not become less, because they were taken out since. */
  keptUntil: string;
}

async function takeInRenewal(renewal: Renewal, one: RenewalStep): Promise<void> {
  const { world, items, keptUntil } = renewal;
  switch (one.step) {
    case 'work':
      work(renewal, one);
      return;
    case 'delete': {
      const [id, item] = [...items][one.pick] ?? [];
      if (id !== undefined && item !== undefined && item.at > keptUntil) items.delete(id);
      return;
    }
    case 'learn':
      await world.learn();
      renewal.isKnown = true;
      return;
    case 'renew':
      await renew(renewal, one);
      return;
    default:
      await takeCommon(world, one);
  }
}

/** A piece of work is not continued under another contract. */
function work(
  { world, items, memberId, contracts, keptUntil }: Renewal,
  { slot, seconds, labels }: Extract<RenewalStep, { step: 'work' }>,
): void {
  const now = world.engine.clock.now().toISOString();
  const id = `${contracts.length} ${slot}`;
  const { seconds: before = 0, labels: had = 0, at = now } = items.get(id) ?? {};
  const most = at > keptUntil ? labels : Math.max(labels, had);
  items.set(id, { memberId, seconds: before + seconds, labels: most, at, changedAt: now });
}

async function renew(
  renewal: Renewal,
  { gapMinutes, isNoticed }: Extract<RenewalStep, { step: 'renew' }>,
): Promise<void> {
  const { world, items, memberId, trainerId, contracts } = renewal;
  const { engine, sandbox, jobId } = world;
  if (!renewal.isKnown) await world.learn();
  world.tool.breaksAfter = null;
  // What was deleted before they are taken out is known by then.
  if (isNoticed) await world.read(true);
  const last = contracts.at(-1);
  sandbox.endContract(last?.contractId ?? '');
  if (last !== undefined) last.endsAt = engine.clock.now().toISOString();
  const half = (gapMinutes * minuteMs) / 2;
  await world.pass(half);
  if (isNoticed) {
    await world.learn();
    // No work of that day can be lost any more, and the day ends in this zone within a day.
    const endOfDay = engine.clock.now().getTime() + 24 * 60 * minuteMs;
    renewal.keptUntil = new Date(endOfDay).toISOString();
  } else {
    const at = engine.clock.now().toISOString();
    items.set(`late ${contracts.length}`, { memberId, seconds: 30, labels: 1, at });
  }
  await world.pass(half + 1000);
  const { contractId } = sandbox.hire({ jobId, trainers: [{ opentrainUserId: trainerId }] });
  contracts.push({ contractId, startsAt: engine.clock.now().toISOString(), endsAt: '9999' });
  if (isNoticed) await world.learn();
  renewal.isKnown = isNoticed;
}
