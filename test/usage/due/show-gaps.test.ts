import { expect, it } from 'vitest';
import { showGaps } from '../../../src/usage/due/show-usage.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { troublesIn } from '../../support/troubles.ts';
import { openUsageWorld } from '../../support/usage-harness.ts';

const hourMs = 3_600_000;
const installs = new Map([['acme', { tool: 'studio', projects: ['*'] }]]);

describeAnyDatabase('what of the work cannot be counted', (openFresh) => {
  async function openTotals() {
    const world = await openUsageWorld(await openFresh());
    const { engine, tool, ctx } = world;
    await world.link('signs');
    const [worker, other] = [world.hire(), world.hire(world.openJob())];
    await world.learn();
    await world.read();
    tool.totals.set(worker.memberId, 10);
    await readAgain();
    async function readAgain() {
      engine.clock.advance(hourMs);
      await world.read();
      return engine.clock.now().toISOString();
    }
    const troubles = async () =>
      (await troublesIn(engine, installs)).map(({ kind, count, since, detail }) => ({ kind, count, since, detail }));
    const show = ({ contractId }: { contractId: string }) => showGaps(ctx, 'acme', contractId);
    return { ...world, worker, other, readAgain, troubles, show };
  }

  const nothing = { gaps: [], fallen: [], failing: [] };

  it('is shown with its time and cause for the contracts of that work scope, until it can be counted', async () => {
    const { tool, worker, other, readAgain, troubles, show } = await openTotals();
    expect([await show(worker), await troubles()]).toEqual([nothing, []]);
    tool.gap = 'labels are not counted';
    const since = await readAgain();
    await readAgain();
    const at = { tool: 'studio', scope: 'signs' };
    expect(await show(worker)).toEqual({ ...nothing, gaps: [{ ...at, since, says: tool.gap }] });
    expect(await show(other)).toEqual(nothing);
    expect(await troubles()).toEqual([{ kind: 'usage_gap', count: null, since, detail: 'labels are not counted' }]);
    tool.gap = null;
    await readAgain();
    expect([await show(worker), await troubles()]).toEqual([nothing, []]);
  });

  it('is shown while a running total is below what was counted', async () => {
    const { tool, worker, readAgain, troubles, show, sandbox, learn } = await openTotals();
    tool.totals.set(worker.memberId, 8);
    const since = await readAgain();
    const fallen = { seconds: null, tasks: 2, labels: null };
    const of = { tool: 'studio', scope: 'signs', trainerId: worker.trainerId };
    expect(await show(worker)).toEqual({ ...nothing, fallen: [{ ...of, since, fallen }] });
    expect(await troubles()).toMatchObject([{ kind: 'usage_fallen', count: 1, since }]);
    tool.totals.set(worker.memberId, 10);
    await readAgain();
    expect([await show(worker), await troubles()]).toEqual([nothing, []]);
    tool.totals.set(worker.memberId, 9);
    await readAgain();
    expect(await troubles()).toHaveLength(1);
    // A trainer who is out does no more work.
    sandbox.endContract(worker.contractId);
    await learn();
    expect(await troubles()).toEqual([]);
  });

  it('is shown if the work scope cannot be read', async () => {
    const { tool, worker, readAgain, show } = await openTotals();
    tool.refusedScopes.add('signs');
    await readAgain();
    expect(await show(worker)).toMatchObject({
      failing: [{ scope: 'signs', readAt: expect.any(String), failure: 'You may not' }],
    });
  });
});
