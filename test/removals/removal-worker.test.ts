import { beforeEach, expect, it } from 'vitest';
import { inTransaction } from '../../src/db/database.ts';
import { countedAfterMs } from '../../src/domain/brake.ts';
import { emptyEvidence, emptyLink } from '../../src/domain/evidence.ts';
import { instantIn, toInstant } from '../../src/lib/clock.ts';
import { noteListed } from '../../src/reconcile/runs/active-list-store.ts';
import { decidePlanItems, listPlans } from '../../src/removals/plan-store.ts';
import { createRemovalWorker } from '../../src/removals/removal-worker.ts';
import { claimDue, convergeDue } from '../support/converging.ts';
import { createEngine, type Engine, inStudio, startLoops } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createMemoryTool, type MemoryTool } from '../support/memory-tool.ts';
import { describeAnyDatabase } from '../support/tries.ts';
import { until } from '../support/until.ts';
import { watchQueries } from '../support/watch-queries.ts';

const graceMs = 15 * 60_000;
const dayMs = 24 * 3_600_000;

/** Each on a link of their own to one project, so that they go one by one. */
function about(type: string, number: number): string {
  const names = { contract: `c${number}`, trainer: `t${number}`, link: `l${number}` };
  return fullEvent({ type, ...names });
}

describeAnyDatabase('removals', (openFresh) => {
  let engine: Engine;
  let tool: MemoryTool;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
    tool = createMemoryTool();
  });

  const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

  async function hire(count: number): Promise<void> {
    await engine.applyTogether(numbers(1, count).map((number) => about('contract.started', number)));
    // What their contracts are is known, so that none may take over from another.
    const contractsReadAt = instantIn(engine.clock, 60_000);
    const links = numbers(1, count).map((number) => ({ ...emptyLink('acme', `l${number}`), contractsReadAt }));
    await engine.merge({ ...emptyEvidence(), links });
    await convergeDue(engine, tool);
    // The brake does not count who came in within the last hour.
    engine.clock.advance(countedAfterMs);
  }

  /** Weak ends, whose grace is over. */
  async function unlink(from: number, to: number): Promise<void> {
    await engine.applyTogether(numbers(from, to).map((number) => about('project_link.removed', number)));
    await engine.pass(graceMs);
  }

  const end = (from: number, to: number) =>
    engine.applyTogether(numbers(from, to).map((number) => about('contract.ended', number)));

  const countIn = () => tool.members('street-signs').length;
  const countState = async (state: string) =>
    (await engine.membershipRows()).filter((row) => row.state === state).length;
  const openPlans = async () => (await listPlans(engine, { state: 'open' })).map(({ size }) => size);

  async function decide(how: 'approved' | 'rejected', planId: number) {
    const now = toInstant(engine.clock.now());
    return await inTransaction(engine.database, (tx) => decidePlanItems(engine, tx, planId, how, now));
  }

  it('are cleared if the brake allows them', async () => {
    await hire(10);
    await unlink(1, 3);
    expect(await convergeDue(engine, tool)).toEqual(Array(3).fill('remove removed'));
    expect(countIn()).toBe(7);
    expect(await engine.rows('removal')).toMatchObject(
      Array(3).fill({ install: 'acme', cause: 'link_removed', clearance: 'braked' }),
    );
  });

  it('are not allowed more often because of members who came within the last hour', async () => {
    engine = createEngine(engine.database, { limits: { max: 5, maxFraction: 0.3 } });
    await hire(4);
    const more = numbers(5, 20).map((number) => about('contract.started', number));
    await engine.apply(more);
    await convergeDue(engine, tool);
    expect(countIn()).toBe(20);
    await end(5, 10);
    await engine.brake();
    expect(await openPlans()).toEqual([6]);
    expect(await convergeDue(engine, tool)).toEqual([]);
  });

  it('of an install in its first hour are cleared one by one', async () => {
    await hire(10);
    engine.clock.advance(-countedAfterMs);
    await unlink(1, 1);
    expect(await convergeDue(engine, tool)).toEqual(['remove removed']);
    await unlink(2, 2);
    expect(await openPlans()).toEqual([1]);
    expect(countIn()).toBe(9);
  });

  it('are held together with cleared removals that have not begun', async () => {
    await hire(10);
    await unlink(1, 3);
    expect(await engine.rows('removal')).toHaveLength(3);
    await unlink(4, 4);
    expect(await openPlans()).toEqual([4]);
    expect(await engine.rows('removal')).toEqual([]);
    expect(await convergeDue(engine, tool)).toEqual([]);
    expect(countIn()).toBe(10);
    await decide('approved', 1);
    expect(await convergeDue(engine, tool)).toEqual(Array(4).fill('remove removed'));
  });

  it('are held without removals that a worker has begun', async () => {
    await hire(10);
    const removed = (number: number) => about('project_link.removed', number);
    await engine.apply([1, 2, 3].map(removed));
    engine.clock.advance(10_000);
    await engine.apply([removed(4)]);
    await engine.pass(graceMs - 10_000);
    const claims = await claimDue(engine, { limit: 2 });
    await engine.pass(10_000);
    expect(claims).toHaveLength(2);
    expect(await openPlans()).toEqual([2]);
    expect(await engine.rows('removal')).toHaveLength(2);
  });

  it('are held together beyond the limit, while additions go on', async () => {
    await hire(10);
    await unlink(1, 4);
    await engine.apply([about('contract.started', 11)]);
    expect(await convergeDue(engine, tool)).toEqual(['add added']);
    expect(countIn()).toBe(11);
    expect(await countState('held')).toBe(4);
    expect(await openPlans()).toEqual([4]);
    expect(engine.log.lines()).toContainEqual(
      expect.objectContaining({ install: 'acme', plan: 1, held: 4, msg: 'The brake holds removals' }),
    );
  });

  it('are counted over a day, including those that wait for an operator', async () => {
    await hire(10);
    await unlink(1, 3);
    await convergeDue(engine, tool);
    await engine.pass(dayMs - graceMs);
    await unlink(4, 4);
    await convergeDue(engine, tool);
    expect(await openPlans()).toEqual([]);

    // Of seven, two may go in a day: one has.
    await unlink(5, 6);
    await unlink(7, 7);
    expect(await openPlans()).toEqual([2, 1]);
    expect(await convergeDue(engine, tool)).toEqual([]);
    expect(countIn()).toBe(6);
  });

  it('are counted by install', async () => {
    await hire(3);
    const ofGlobex = (type: string) => fullEvent({ type, contract: 'g1', trainer: 'g1', link: 'g1', project: 'lamps' });
    await engine.apply([ofGlobex('contract.started')], 'globex');
    await convergeDue(engine, tool);
    await engine.apply([ofGlobex('project_link.removed')], 'globex');
    await unlink(1, 1);
    expect(await convergeDue(engine, tool)).toEqual(['remove removed', 'remove removed']);
    expect(tool.members('lamps')).toEqual([]);
    await unlink(2, 2);
    expect(await openPlans()).toEqual([1]);
    expect(countIn()).toBe(2);
  });

  it('by delivered ends are exempt up to a rate in ten minutes, and held beyond it', async () => {
    await hire(40);
    await end(1, 20);
    expect(await convergeDue(engine, tool)).toHaveLength(20);
    await end(21, 26);
    expect(await convergeDue(engine, tool)).toEqual([]);
    expect(await openPlans()).toEqual([6]);
    engine.clock.advance(10 * 60_000);
    await end(27, 36);
    expect(await convergeDue(engine, tool)).toHaveLength(10);
    expect(countIn()).toBe(10);
  });

  it('by a few delivered ends are cleared without counting the day', async () => {
    await hire(10);
    let counted = 0;
    engine.database = watchQueries(engine.database, {
      'select removal': ([counts]) => {
        if (counts?.['braked'] !== undefined) counted += 1;
      },
    });
    await end(1, 5);
    expect(await convergeDue(engine, tool)).toHaveLength(5);
    expect(counted).toBe(0);
    await unlink(6, 6);
    expect(await convergeDue(engine, tool)).toEqual(['remove removed']);
    // Once to know whose work to read, and once to decide.
    expect(counted).toBe(2);
  });

  it('of ten seconds become one plan', async () => {
    await hire(3);
    await engine.apply([1, 2].map((number) => about('project_link.removed', number)));
    engine.clock.advance(5000);
    await engine.apply([about('project_link.removed', 3)]);
    await engine.pass(graceMs - 5000);
    expect(await openPlans()).toEqual([2]);
    await engine.pass(9999);
    expect(await openPlans()).toEqual([2]);
    expect(await convergeDue(engine, tool)).toEqual([]);
    await engine.pass(1);
    expect(await openPlans()).toEqual([2, 1]);
    expect(countIn()).toBe(3);
  });

  it('of people who were there before are not counted', async () => {
    for (const number of numbers(1, 4)) tool.seed('street-signs', `t${number}`);
    await hire(4);
    await unlink(1, 4);
    expect(await convergeDue(engine, tool)).toEqual(Array(4).fill('remove released'));
    expect(await openPlans()).toEqual([]);
    expect(countIn()).toBe(4);
  });

  it('that wait are checked in parts, and become one plan when they need not wait any longer', async () => {
    engine = createEngine(engine.database, { installs: new Map([['acme', inStudio()]]) });
    engine.braking.mostAtOnce = 20;
    await engine.applyTogether(numbers(1, 30).map((number) => about('contract.started', number)));
    await convergeDue(engine, tool);
    engine.clock.advance(countedAfterMs);
    await end(1, 30);
    const asked: number[] = [];
    engine.database = watchQueries(engine.database, {
      // What is looked at in a transaction, and not before it.
      'select reason': (rows) => {
        asked.push(rows.length);
      },
    });
    let lists = 0;
    engine.wake = (loop) => {
      if (loop === 'jobs') lists += 1;
    };

    await engine.brake();
    expect(asked.splice(0)).toEqual([20, 10]);
    expect([lists, await engine.rows('removal'), await openPlans()]).toEqual([1, [], []]);

    await noteListed(engine, { install: 'acme', beganAt: toInstant(engine.clock.now()) });
    await engine.brake();
    expect(asked).toEqual([20, 10, 30]);
    expect(await openPlans()).toEqual([30]);
  });

  it('are handled by a worker that wakes the next step', async () => {
    await hire(1);
    let due = 0;
    engine.wake = (loop) => {
      if (loop === 'memberships') due += 1;
    };
    await end(1, 1);
    startLoops(createRemovalWorker(engine, engine.braking));
    await until('the removal is let pass', () => due === 1, Boolean);
    expect(await engine.membershipRows()).toMatchObject([
      { state: 'removing', removeAfter: null, clearedGeneration: 2 },
    ]);
    const { values } = await engine.metrics.removalDecisions.get();
    expect(values).toMatchObject([{ labels: { install: 'acme', clearance: 'delivered' }, value: 1 }]);
  });
});
