import { symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Adapter } from '../../src/adapters/adapter.ts';
import { Config } from '../../src/config/config-schema.ts';
import type { Context } from '../../src/context.ts';
import type { Database } from '../../src/db/database.ts';
import { bindTool, refuseTwins } from '../../src/tools/bind-tool.ts';
import { createTestContext } from '../support/engine-harness.ts';
import { createFakeClock, type FakeClock } from '../support/fake-clock.ts';
import { createFolder } from '../support/folder.ts';
import { createMemoryTool } from '../support/memory-tool.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const { signal } = new AbortController();

/** A context for binding, with tools configured by URL. */
function createContext(database: Database, urls: Record<string, string | undefined>): Context & { clock: FakeClock } {
  const studio = { adapter: 'memory', protected: [], concurrency: 8, timeoutMs: 5000 };
  const tools = Object.entries(urls).map(([tool, url]) => [tool, { ...studio, settings: { url } }] as const);
  const clock = createFakeClock();
  return { ...createTestContext(database, { config: { ...Config.parse({}), tools: new Map(tools) } }), clock };
}

const person = { trainerId: 't1', email: 't1@opentrain.work', displayName: null, memberId: null };

describeAnyDatabase('a tool that is another server than before', (openDatabase) => {
  it('gets no guidelines, and is asked only for its identity', async () => {
    const calls: string[] = [];
    let identity = 'org 1';
    const adapter: Adapter = {
      ...createMemoryTool('membership', { lists: true }).adapter,
      identify: async () => identity,
      async readGuidelines(project) {
        calls.push(`read ${project}`);
        return '';
      },
      async writeGuidelines(project) {
        calls.push(`write ${project}`);
      },
    };
    const ctx = createContext(await openDatabase(), { studio: undefined });
    const bound = bindTool(ctx, 'studio', adapter);
    await bound.writeGuidelines?.('signs', 'x', signal);
    identity = 'org 2';
    ctx.clock.advance(3_600_000);
    await expect(bound.readGuidelines?.('signs', signal)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(bound.writeGuidelines?.('signs', 'x', signal)).rejects.toMatchObject({ code: 'unavailable' });
    const list = Array.fromAsync(bound.listMembers?.('signs', signal) ?? []);
    await expect(list).rejects.toMatchObject({ code: 'unavailable' });
    expect(await bound.identify?.(signal)).toBe('org 2');
    expect(calls).toEqual(['write signs']);
  });
});

describeAnyDatabase('two names of one server', (openDatabase) => {
  it.each([
    ['by the identity that it tells', 'org 1', 'org 1', ['https://one.example', 'https://two.example']],
    ['by its address, where it tells no identity', null, null, ['https://one.example', 'https://one.example']],
  ])('are refused %s: a contract of one customer removed the person of another', async (_, first, second, at) => {
    const ctx = createContext(await openDatabase(), { one: at[0], two: at[1] });
    const tool = createMemoryTool();
    const named = (identity: string | null) => ({ ...tool.adapter, identify: async () => identity });
    const one = bindTool(ctx, 'one', named(first));
    const two = bindTool(ctx, 'two', named(second));
    await one.check(signal);
    await expect(two.findMember('signs', person, signal)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/^Tools one and two are the same server.*keep tools\.one/),
    });
    expect(tool.calls).toEqual([]);
  });

  it('are two servers if each has another identity at one address', async () => {
    const ctx = createContext(await openDatabase(), { one: 'https://saas.example', two: 'https://saas.example' });
    for (const [tool, identity] of [
      ['one', 'org 1'],
      ['two', 'org 2'],
    ] as const) {
      const adapter = { ...createMemoryTool().adapter, identify: async () => identity };
      await bindTool(ctx, tool, adapter).check(signal);
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
    expect(() => refuseTwins(tools, adapters)).toThrow(/^Tools one and two are the same server/);
    tools.set('two', { settings: { path: path.join(folder, 'other.json') } });
    expect(() => refuseTwins(tools, adapters)).not.toThrow();
  });
});
