import { expect, it } from 'vitest';
import type { PlanState } from '../../src/domain/brake.ts';
import { pagePlans } from '../../src/removals/plan-store.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { createEngine } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';

describeEachDatabase('plans', (openFresh) => {
  /** One plan for each state, the oldest first, of as many memberships as is its number. */
  async function open(states: readonly PlanState[]) {
    const engine = createEngine(await openFresh());
    const trainers = states.map((_, index) => `cmu${index}`);
    const events = trainers.map((trainer) => {
      return fullEvent({ type: 'contract.started', trainer, contract: `of-${trainer}` });
    });
    await engine.apply(events);
    const memberships = await engine.membershipRows();
    const { kysely } = engine.database;
    const ids: number[] = [];
    for (const [index, state] of states.entries()) {
      const plan = { install: 'acme', state, createdAt: '2026-03-15T12:00:00.000Z' };
      const { id } = await kysely.insertInto('plan').values(plan).returning('id').executeTakeFirstOrThrow();
      const items = memberships.slice(0, index).map(({ id: membershipId, generation }) => {
        return { planId: id, membershipId, generation, cause: 'link_removed' as const, outcome: null };
      });
      if (items.length > 0) await kysely.insertInto('planItem').values(items).execute();
      ids.push(id);
    }
    return { engine, ids };
  }

  it('are listed page by page, the newest first, with how many people each has', async () => {
    const { engine, ids } = await open(['open', 'rejected', 'open', 'approved', 'open']);
    const page = (state: PlanState | undefined, before: number | undefined, limit = 2) =>
      pagePlans(engine, { state, before, limit });
    expect(await page(undefined, undefined)).toMatchObject([
      { id: ids[4], state: 'open', size: 4, install: 'acme', decidedAt: null },
      { id: ids[3], state: 'approved', size: 3 },
    ]);
    expect(await page(undefined, ids[3])).toMatchObject([
      { id: ids[2], size: 2 },
      { id: ids[1], size: 1 },
    ]);
    expect(await page(undefined, ids[1])).toMatchObject([{ id: ids[0], size: 0 }]);
    expect(await page(undefined, ids[0])).toEqual([]);
  });

  it('are listed by state', async () => {
    const { engine, ids } = await open(['open', 'approved', 'open', 'approved', 'open']);
    const idsOf = async (state: PlanState, before?: number) =>
      (await pagePlans(engine, { state, before, limit: 2 })).map(({ id }) => id);
    expect(await idsOf('open')).toEqual([ids[4], ids[2]]);
    expect(await idsOf('open', ids[2])).toEqual([ids[0]]);
    expect(await idsOf('approved', ids[4])).toEqual([ids[3], ids[1]]);
    expect(await idsOf('rejected')).toEqual([]);
  });
});
