import { expect, it } from 'vitest';
import type { Adapter } from '../../src/adapters/adapter.ts';
import { createAlerts } from '../../src/lib/alerts.ts';
import { createMetrics } from '../../src/lib/metrics.ts';
import { bindTool } from '../../src/tools/bind-tool.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { createLogLines } from '../support/log-lines.ts';
import { createMemoryTool } from '../support/memory-tool.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const { signal } = new AbortController();

describeAnyDatabase('a tool that is another server than before', (openDatabase) => {
  it('is shown no guidelines, and asked for none', async () => {
    const clock = createFakeClock();
    const alerts = createAlerts(createLogLines().logger, createMetrics());
    const calls: string[] = [];
    let identity = 'org 1';
    const adapter: Adapter = {
      ...createMemoryTool().adapter,
      identify: async () => identity,
      async readGuidelines(project) {
        calls.push(`read ${project}`);
        return '';
      },
      async writeGuidelines(project) {
        calls.push(`write ${project}`);
      },
    };
    const bound = bindTool({ database: await openDatabase(), alerts, clock }, 'studio', adapter, null);
    await bound.writeGuidelines?.('signs', 'x', signal);
    identity = 'org 2';
    clock.advance(3_600_000);
    await expect(bound.readGuidelines?.('signs', signal)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(bound.writeGuidelines?.('signs', 'x', signal)).rejects.toMatchObject({ code: 'unavailable' });
    expect(calls).toEqual(['write signs']);
  });
});
