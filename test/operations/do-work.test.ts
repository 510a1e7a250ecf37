import { expect, it } from 'vitest';
import { createResetWorker } from '../../src/converge/reset-worker.ts';
import { toInstant } from '../../src/lib/clock.ts';
import { doWork } from '../../src/operations/reconcile-now.ts';
import { convergeDue, createStudioWorker, withStudio } from '../support/converging.ts';
import { createEngine } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createSharedLinkTool } from '../support/inviting-tool.ts';
import { describeAnyDatabase } from '../support/tries.ts';

describeAnyDatabase('a command that syncs the tools', (openFresh) => {
  it('also replaces the invitation link that a removed trainer may know, if that is all there is to do', async () => {
    const engine = createEngine(await openFresh());
    const tool = createSharedLinkTool();
    await engine.apply([fullEvent({ type: 'contract.started' })]);
    await convergeDue(engine, tool);
    await engine.apply([fullEvent({ type: 'contract.ended' })]);
    await convergeDue(engine, tool);
    expect(tool.resets()).toBe(0);

    const { clock } = engine;
    const ctx = withStudio(engine, tool);
    const resetter = createResetWorker(ctx, 'studio');
    const loops = [resetter, createStudioWorker(engine, tool)];
    const since = { at: toInstant(clock.now()), afterReceipt: 0 };
    const { signal } = new AbortController();
    const patience = { loops, waitMs: 10_000, signal, onProgress: () => undefined };
    const work = await doWork(ctx, ['acme'], since, patience);
    expect(work.get('acme')).toMatchObject({ left: 0 });
    expect(tool.resets()).toBe(1);
  });
});
