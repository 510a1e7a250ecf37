import { expect, it } from 'vitest';
import type { Source } from '../../../src/marketplace/source.ts';
import { previewReport } from '../../../src/usage/report/plan-install.ts';
import { reportUsage } from '../../../src/usage/report/report-usage.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { openUsageWorld } from '../../support/usage-harness.ts';

const { signal } = new AbortController();
const wanted = { installs: ['acme'] };

describeAnyDatabase('an install whose source takes no reports', (openFresh) => {
  it('is read and never reported: nothing is counted, planned or left', async () => {
    const world = await openUsageWorld(await openFresh());
    await world.link('signs');
    const { memberId } = world.hire();
    await world.learn();
    const at = world.engine.clock.now().toISOString();
    world.tool.items.set('signs', new Map([['one', { memberId, seconds: 60, labels: 1, at }]]));
    world.engine.clock.advance(60_000);
    await world.read();
    const { reportUsage: _, ...source } = world.ctx.sources.get('acme') as Source;
    const ctx = { ...world.ctx, sources: new Map([['acme', source]]) };
    expect(await reportUsage(ctx, async () => undefined, wanted, signal)).toEqual([]);
    expect(await previewReport(ctx, wanted)).toEqual([]);
    expect(world.requests).toEqual([]);
    expect(await world.report()).toMatchObject({ outcome: 'applied', sent: 1 });
  });
});
