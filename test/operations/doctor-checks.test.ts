import { describe, expect, it } from 'vitest';
import type { Adapter, Capabilities } from '../../src/adapters/adapter.ts';
import { checkTool, checkWalls } from '../../src/operations/check-tools.ts';
import { checkClock, checkConfiguration } from '../../src/operations/doctor.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { createMemoryTool } from '../support/memory-tool.ts';
import { describeAnyDatabase } from '../support/tries.ts';

function withCapabilities(changes: Partial<Capabilities>, check?: Adapter['check']): Adapter {
  const { adapter } = createMemoryTool();
  const capabilities = { ...adapter.capabilities, ...changes };
  return { ...adapter, capabilities, ...(check && { check }) };
}

describe('a check of a tool', () => {
  const look = (adapter: Adapter, signal = new AbortController().signal) => checkTool('studio', adapter, signal);

  it('warns if a removed member may still get in, or cannot be added again', async () => {
    const removal = { effect: 'membership_only', reason: 'their login stays' } as const;
    expect(await look(withCapabilities({ removal, readding: 'no' }))).toMatchObject([
      { name: 'tool studio', status: 'ok', action: null },
      { status: 'warning', name: 'removals in studio', says: 'A removed member may still get in: their login stays' },
      { status: 'warning', name: 'returns to studio', says: 'A removed member cannot be added again' },
    ]);
    expect(await look(withCapabilities({ readding: 'new_account' }))).toHaveLength(1);
  });

  it('has a unique name for each finding of the tool', async () => {
    const finding = (says: string) => ({ says, action: 'Fix it', isFailure: false });
    const check = () => Promise.resolve([finding('one'), finding('two')]);
    const names = (await look(withCapabilities({}, check))).map(({ name }) => name);
    expect(names).toEqual(['tool studio', 'settings of studio', 'settings of studio (2)']);
  });

  it('fails with the error of the tool, without addresses', async () => {
    const check = () => Promise.reject(new Error('no rights for ada@lab.example'));
    expect(await look(withCapabilities({}, check))).toMatchObject([
      { status: 'failure', says: 'no rights for a…@lab.example' },
    ]);
  });

  it('ends when it is aborted, even if the adapter ignores the signal', async () => {
    const stopping = new AbortController();
    const looking = look(
      withCapabilities({}, () => new Promise(() => undefined)),
      stopping.signal,
    );
    stopping.abort();
    expect(await looking).toMatchObject([{ status: 'failure' }]);
  });
});

describe('a check of the configuration', () => {
  it('counts tools and installs, and has a unique name for each warning', () => {
    const [installs, tools] = [new Map(), new Map([['studio', {}]])];
    const notifications = { channels: new Map(), repeatMs: 0 };
    const checks = checkConfiguration({ installs, tools, notifications }, ['a: one', 'b: two']);
    expect(checks).toMatchObject([
      { name: 'configuration', status: 'ok', says: '1 tool; installs are stored in the database' },
      { name: 'configuration (2)', status: 'warning', says: 'a: one' },
      { name: 'configuration (3)', status: 'warning', says: 'b: two' },
    ]);
  });
});

describe('a check of the walls', () => {
  const installs = new Map([['acme', { tool: 'studio', projects: ['acme-*'] }]]);
  const { adapter } = createMemoryTool();
  const adapters = new Map<string, Adapter>([['studio', adapter]]);

  it('warns about an install with * beside installs that name their projects', () => {
    const shared = new Map([...installs, ['globex', { tool: 'studio', projects: ['*'] }]]);
    expect(checkWalls({ installs: shared, adapters })).toEqual([
      {
        name: 'projects of globex',
        status: 'warning',
        says: 'globex may reach every project of studio that acme does not name ("*" in installs.globex.projects)',
        action: 'Name the projects of globex instead of "*"',
      },
    ]);
    for (const projects of [['globex-*'], ['*', 'x']]) {
      const other = new Map([
        ['acme', { tool: 'studio', projects: projects }],
        ['globex', { tool: 'studio', projects }],
      ]);
      expect(checkWalls({ installs: other, adapters })).toMatchObject([{ status: 'ok' }]);
    }
    const apart = new Map([...installs, ['globex', { tool: 'roster', projects: ['*'] }]]);
    expect(checkWalls({ installs: apart, adapters })).toMatchObject([{ status: 'ok' }]);
  });

  it('warns if customers share a tool with one group', () => {
    const shared = new Map([...installs, ['globex', { tool: 'studio', projects: ['globex-*'] }]]);
    const oneGroup = new Map<string, Adapter>([['studio', { ...adapter, groupFor: () => '1' }]]);
    expect(checkWalls({ installs: shared, adapters: oneGroup })).toMatchObject([
      { status: 'warning', says: expect.stringMatching(/^acme, globex share studio/) },
    ]);
    const ok = [{ status: 'ok' }];
    expect(checkWalls({ installs: shared, adapters })).toMatchObject(ok);
    expect(checkWalls({ installs, adapters: oneGroup })).toMatchObject(ok);
  });
});

describeAnyDatabase('a check of the clock', (openFresh) => {
  it('warns if the clocks of this machine and of the database differ', async () => {
    const database = await openFresh();
    const isOwn = database.dialect === 'sqlite';
    const now = new Date().toISOString();
    expect(await checkClock(database, createFakeClock(now))).toMatchObject({ status: 'ok' });
    const behind = await checkClock(database, createFakeClock('2020-01-01T00:00:00.000Z'));
    expect(behind).toMatchObject({ status: isOwn ? 'ok' : 'warning' });
    expect(behind.says).toMatch(/^The database's clock is \d+ ms ahead$/);
  });
});
