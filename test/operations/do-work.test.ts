import { describe, expect, it } from 'vitest';
import { createResetWorker } from '../../src/converge/reset-worker.ts';
import { toInstant } from '../../src/lib/clock.ts';
import { decideLookRest, doWork } from '../../src/operations/reconcile-now.ts';
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

describe('a command that syncs the tools rests after it has counted what is left', () => {
  it.each([
    [0, 100],
    [20, 1000],
    [400, 10_000],
  ])('fifty times as long as the count of %i ms, but for 0.1 s at least and 10 s at most', (tookMs, restMs) => {
    expect(decideLookRest(tookMs, 60_000)).toBe(restMs);
  });

  it('no longer than it is to wait', () => {
    expect(decideLookRest(400, 2100)).toBe(2100);
  });
});
