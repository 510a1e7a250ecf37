import { symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Adapter } from '../../src/adapters/adapter.ts';
import { createAlerts } from '../../src/lib/alerts.ts';
import { createMetrics } from '../../src/lib/metrics.ts';
import { bindTool, refuseTwins } from '../../src/tools/bind-tool.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { createFolder } from '../support/folder.ts';
import { createLogLines } from '../support/log-lines.ts';
import { createMemoryTool } from '../support/memory-tool.ts';
import { storageOf } from '../support/storage-of.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const { signal } = new AbortController();
const configured = new Set(['one', 'studio', 'two']);
const person = { trainerId: 't1', email: 't1@opentrain.work', displayName: null, memberId: null };

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
    const bound = bindTool({ ...storageOf(await openDatabase()), alerts, clock, configured }, 'studio', adapter, null);
    await bound.writeGuidelines?.('signs', 'x', signal);
    identity = 'org 2';
    clock.advance(3_600_000);
    await expect(bound.readGuidelines?.('signs', signal)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(bound.writeGuidelines?.('signs', 'x', signal)).rejects.toMatchObject({ code: 'unavailable' });
    expect(calls).toEqual(['write signs']);
  });
});

describeAnyDatabase('two names of one server', (openDatabase) => {
  it.each([
    ['by the identity that it tells', 'org 1', 'org 1', ['one.example', 'two.example']],
    ['by its address, where it tells no identity', null, null, ['one.example', 'one.example']],
  ])('are refused %s: the contract of one customer took out the person of another', async (_, first, second, at) => {
    const deps = { ...storageOf(await openDatabase()), clock: createFakeClock(), configured };
    const alerts = createAlerts(createLogLines().logger, createMetrics());
    const tool = createMemoryTool();
    const named = (identity: string | null) => ({ ...tool.adapter, identify: async () => identity });
    const one = bindTool({ ...deps, alerts }, 'one', named(first), at[0] ?? null);
    const two = bindTool({ ...deps, alerts }, 'two', named(second), at[1] ?? null);
    await one.check(signal);
    await expect(two.findMember('signs', person, signal)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/^The tools one and two are the same server.*keep tools\.one/),
    });
    expect(tool.calls).toEqual([]);
  });

  it('are two servers where each tells another identity at one address', async () => {
    const deps = { ...storageOf(await openDatabase()), clock: createFakeClock(), configured };
    const alerts = createAlerts(createLogLines().logger, createMetrics());
    for (const [tool, identity] of [
      ['one', 'org 1'],
      ['two', 'org 2'],
    ] as const) {
      const adapter = { ...createMemoryTool().adapter, identify: async () => identity };
      await bindTool({ ...deps, alerts }, tool, adapter, 'saas.example').check(signal);
    }
  });
});

describe('the configuration of two names of one server', () => {
  it('is refused at the start, whatever symbolic link leads to its file', () => {
    const folder = createFolder();
    symlinkSync(folder, `${folder}-link`);
    const { adapter } = createMemoryTool();
    const tools = new Map([
      ['one', { settings: { path: path.join(folder, 'roster.json') } }],
      ['two', { settings: { path: path.join(`${folder}-link`, 'roster.json') } }],
    ]);
    const adapters = new Map([...tools.keys()].map((tool) => [tool, adapter] as const));
    expect(() => refuseTwins(tools, adapters)).toThrow(/^The tools one and two are the same server/);
    tools.set('two', { settings: { path: path.join(folder, 'other.json') } });
    expect(() => refuseTwins(tools, adapters)).not.toThrow();
  });
});
