import { beforeEach, expect, it } from 'vitest';
import { inTransaction } from '../../src/db/database.ts';
import { toInstant } from '../../src/lib/clock.ts';
import { lockEvidence } from '../../src/memberships/derivation-store.ts';
import { decidePlan } from '../../src/operations/decide-plan.ts';
import { countRemovals } from '../../src/removals/brake-store.ts';
import { listPlanItems, listPlans } from '../../src/removals/plan-store.ts';
import { convergeDue } from '../support/converging.ts';
import { createEngine, type Engine } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createMemoryTool, type MemoryTool } from '../support/memory-tool.ts';
import { describeAnyDatabase } from '../support/tries.ts';
import { until } from '../support/until.ts';

const trainers = ['cmu1', 'cmu2', 'cmu3'];
const hired = trainers.map((trainer, index) =>
  fullEvent({ type: 'contract.started', contract: `cmc${index + 1}`, trainer }),
);
const unlinked = fullEvent({ type: 'project_link.removed' });
const graceMs = 15 * 60_000;

describeAnyDatabase('a decision about a plan', (openFresh) => {
  let engine: Engine;
  let tool: MemoryTool;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
    tool = createMemoryTool();
    await engine.apply(hired);
    await convergeDue(engine, tool);
    await engine.apply([unlinked]);
    await engine.takeIn();
    await engine.pass(graceMs);
    expect(await listPlans(engine, {})).toMatchObject([{ id: 1, state: 'open', size: 3 }]);
  });

  const decide = (decision: 'approve' | 'reject', planId = 1, only?: number[]) => {
    const by = { actor: 'ada', at: toInstant(engine.clock.now()) };
    return decidePlan(engine, by, decision, planId, { only });
  };

  it('to approve it removes its people, and is in the audit log', async () => {
    expect(await decide('approve')).toEqual({ install: 'acme', decided: 3, stale: 0, open: 0 });
    expect(await convergeDue(engine, tool)).toEqual(Array(3).fill('remove removed'));
    expect(tool.members('street-signs')).toEqual([]);
    expect(await engine.rows('audit')).toMatchObject([
      { actor: 'ada', action: 'plans approve', subject: 'plan 1', at: '2026-03-15T12:15:00.000Z' },
    ]);
  });

  it('to reject it keeps its people, and is in the audit log', async () => {
    expect(await decide('reject')).toEqual({ install: 'acme', decided: 3, stale: 0, open: 0 });
    await engine.pass(graceMs);
    expect(await convergeDue(engine, tool)).toEqual([]);
    expect(tool.members('street-signs')).toEqual(trainers);
    expect(await engine.rows('audit')).toMatchObject([{ action: 'plans reject' }]);
  });

  it('about some of its people leaves the others in the plan', async () => {
    const [first = 0, second = 0] = (await listPlanItems(engine, 1)).map(({ membershipId }) => membershipId);
    expect(await decide('approve', 1, [first])).toEqual({ install: 'acme', decided: 1, stale: 0, open: 2 });
    expect(await convergeDue(engine, tool)).toEqual(['remove removed']);
    expect(tool.members('street-signs')).toHaveLength(2);
    expect(await listPlans(engine, {})).toMatchObject([{ state: 'open', decidedAt: null }]);
    await expect(decide('reject', 1, [first])).rejects.toMatchObject({ code: 'conflict' });
    await expect(decide('approve', 1, [second, 99])).rejects.toMatchObject({ code: 'conflict' });
    await expect(decide('approve', 1, [])).rejects.toMatchObject({ code: 'invalid' });

    expect(await decide('reject', 1, [second])).toEqual({ install: 'acme', decided: 1, stale: 0, open: 1 });
    await engine.pass(graceMs);
    expect(await convergeDue(engine, tool)).toEqual([]);
    // What was decided no longer waits in the brake.
    const counts = await countRemovals(engine.database.kysely, 'acme', engine.clock.now());
    expect(counts.waiting).toBe(1);
    expect(await decide('approve')).toEqual({ install: 'acme', decided: 1, stale: 0, open: 0 });
    expect(await convergeDue(engine, tool)).toEqual(['remove removed']);
    expect(tool.members('street-signs')).toHaveLength(1);
    expect(await listPlans(engine, {})).toMatchObject([{ state: 'approved' }]);
    expect((await listPlanItems(engine, 1)).map(({ outcome }) => outcome)).toEqual([
      'approved',
      'rejected',
      'approved',
    ]);
    expect(await engine.rows('audit')).toMatchObject([
      {
        action: 'plans approve',
        subject: `plan 1, memberships ${first}`,
        before: '3 open',
        after: '1 approved, 0 stale, 2 open',
      },
      { action: 'plans reject', subject: `plan 1, memberships ${second}`, after: '1 rejected, 0 stale, 1 open' },
      { action: 'plans approve', subject: 'plan 1', before: '1 open', after: '1 approved, 0 stale, 0 open' },
    ]);
  });

  it('is refused a second time, and for a plan that does not exist', async () => {
    await decide('reject');
    await expect(decide('approve')).rejects.toMatchObject({
      code: 'conflict',
      message: 'Plan 1 is already rejected',
    });
    await expect(decide('approve', 9)).rejects.toMatchObject({
      code: 'not_found',
      message: 'There is no plan 9',
    });
    expect(await engine.rows('audit')).toHaveLength(1);
  });

  it('waits for a transaction with new evidence, and does not undo what follows from it', async () => {
    const again = fullEvent({ type: 'contract.started', id: '9', contract: 'cmc9', trainer: 'cmu1', link: 'cml9' });
    const { promise: hold, resolve: letGo } = Promise.withResolvers<void>();
    let isLocked = false;
    const taking = inTransaction(engine.database, async (tx) => {
      await lockEvidence(engine, tx);
      isLocked = true;
      await hold;
      await tx
        .updateTable('membership')
        .set({ state: 'pending', wanted: true, generation: 9, cause: null })
        .where('trainerId', '=', 'cmu1')
        .execute();
    });
    const hasLock = () => isLocked;
    await until('it has the lock', hasLock, Boolean);
    const approving = decide('approve');
    setTimeout(letGo, 100);
    await taking;
    expect(await approving).toEqual({ install: 'acme', decided: 2, stale: 1, open: 0 });
    await engine.apply([again]);
    await convergeDue(engine, tool);
    expect(tool.members('street-signs')).toEqual(['cmu1']);
  });
});
