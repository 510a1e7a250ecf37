import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Adapter, Person } from '../../src/adapters/adapter.ts';
import type { ConformanceHarness } from '../../src/adapters/conformance/harness.ts';
import { conformanceCases, runConformance } from '../../src/adapters/conformance.ts';
import { builtInAdapters, createAdapter } from '../../src/adapters/create-adapter.ts';
import { loadAdapter } from '../../src/adapters/load-adapters.ts';
import { createRosterAdapter } from '../../src/adapters/roster/roster-adapter.ts';
import { createFolder } from '../support/folder.ts';
import { installExamplePackage, trackerFile } from '../support/foreign-adapters.ts';
import { exampleSettings, sparseSettings } from '../support/http-tool-settings.ts';
import { listAll } from '../support/list-all.ts';
import { createMemoryTool } from '../support/memory-tool.ts';
import { openRestTool, type RestTool } from '../support/rest-tool.ts';
import type { Paging, RestToolOptions } from '../support/rest-tool-state.ts';

function person(index: number): Person {
  const trainerId = `cmu${index}`;
  const email = `trainer.${index}@opentrain.work`;
  return { trainerId, email, displayName: `Trainer ${index}`, memberId: null };
}

const groups = ['street-signs', 'street-lamps'] as const;

function harnessOf(adapter: Adapter, more: Partial<ConformanceHarness> = {}): ConformanceHarness {
  return { adapter, groups, person, hasEveryGroup: true, ...more };
}

async function openRest(
  toAdapter: (tool: RestTool) => Adapter | Promise<Adapter>,
  options: RestToolOptions = {},
): Promise<ConformanceHarness> {
  const tool = await openRestTool(options);
  return harnessOf(await toAdapter(tool), {
    ...{ faults: tool.faults, crowd: 7, timeoutMs: 5000 },
    seed: async (group, { email }) => tool.seed(group, email),
  });
}

async function loadForeign(adapter: string, settings: object): Promise<Adapter> {
  return await loadAdapter('studio', { adapter, settings: { ...settings } });
}

const openSparse = (paging: Paging) => () =>
  openRest((tool) => createAdapter('studio', 'http', sparseSettings(tool, paging)), {
    ...{ paging, refusesRepeats: false },
  });

const noLogins = ['ends a login, and no other'];

/** Needs a tool that another hand can change, and make misbehave. */
const needsHands = [
  'finds who was there before, and adds them no second time',
  ...noLogins,
  ...conformanceCases.slice(-5).map(({ name }) => name),
];

/** What cannot be asked of everyone. */
const leftOut = new Map([
  ['http, which ends logins', []],
  ['roster', needsHands],
  ['a package', needsHands],
]);

/** By the name in `tools.<name>.adapter`, and what is special: a tool to run the suite against. */
const openers = new Map<string, () => ConformanceHarness | Promise<ConformanceHarness>>([
  ['http', () => openRest((tool) => createAdapter('studio', 'http', exampleSettings(tool)))],
  ...(['page', 'offset', 'cursor', 'link', 'link_header'] as const).map(
    (paging) => [`http, a list alone, by ${paging}`, openSparse(paging)] as const,
  ),
  [
    'http, which ends logins',
    () =>
      openRest((tool) => {
        const settings = exampleSettings(tool);
        const removeAccount = { path: '/users/{memberId}' };
        const requests = { ...settings.requests, removeAccount };
        return createAdapter('studio', 'http', { ...settings, requests });
      }),
  ],
  [
    'a file',
    () => openRest((tool) => loadForeign(trackerFile, { url: tool.url, token: tool.token })),
  ],
  [
    'a package',
    async () => harnessOf(await loadForeign(installExamplePackage(), {}), { crowd: 7 }),
  ],
  [
    'roster',
    () => harnessOf(createRosterAdapter({ path: path.join(createFolder(), 'roster.json') })),
  ],
]);

it('is run against every adapter that is built in', () => {
  expect([...openers.keys()]).toEqual(expect.arrayContaining([...builtInAdapters]));
});

describe.each(builtInAdapters.map((name) => [name]))('the adapter %s', (name) => {
  it.each(conformanceCases)('$name', async ({ run, skip }) => {
    const harness = await openers.get(name)?.();
    if (harness === undefined) throw new Error('no such opener');
    if (!skip?.(harness)) await run(harness);
  });
});

describe.each([...openers])('one tool with the adapter %s', (name, open) => {
  it('is asked all that it can answer, keeps the contract, and keeps nobody', async () => {
    const harness = await open();
    const results = await Array.fromAsync(runConformance(harness));
    const namesOf = (outcome: string) =>
      results.filter((result) => result.outcome === outcome).map((result) => result.name);
    expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
    expect(namesOf('skipped').sort()).toEqual([...(leftOut.get(name) ?? noLogins)].sort());
    const { signal } = new AbortController();
    for (const group of groups) {
      expect(await listAll(harness.adapter, group, signal)).toEqual([]);
    }
  });
});

/** Ways of being wrong, each of which some case must notice. */
const mistakes: [string, (adapter: Adapter) => Partial<Adapter>][] = [
  ['finds everybody', (adapter) => ({ findMember: (g, p, s) => adapter.addMember(g, p, s) })],
  ['finds nobody', () => ({ findMember: async () => null })],
  ['never removes', () => ({ removeMember: async () => undefined })],
  [
    'fails on the second removal',
    (adapter) => {
      const removed = new Set<string>();
      return {
        removeMember: async (group, member, s) => {
          if (removed.has(group + member.id)) throw new Error('404');
          removed.add(group + member.id);
          await adapter.removeMember(group, member, s);
        },
      };
    },
  ],
  [
    'removes from all groups',
    (adapter) => ({
      removeMember: async (_group, member, s) => {
        for (const group of groups) await adapter.removeMember(group, member, s);
      },
    }),
  ],
  [
    'knows one case only',
    (adapter) => ({
      findMember: (g, p, s) =>
        adapter.findMember(
          g,
          { ...p, trainerId: p.email.includes('T') ? p.email : p.trainerId },
          s,
        ),
    }),
  ],
  ['takes a name for the group', () => ({ groupFor: (link) => link.externalProjectName ?? '' })],
  ['makes every project one group', () => ({ groupFor: () => groups[0] })],
  [
    'has no reason for what it cannot do',
    (adapter) => ({
      capabilities: {
        ...adapter.capabilities,
        removal: { effect: 'membership_only', reason: ' ' },
      },
    }),
  ],
  [
    'does not listen to its signal',
    (adapter) => {
      const { signal } = new AbortController();
      return { addMember: (group, one) => adapter.addMember(group, one, signal) };
    },
  ],
  [
    'lists somebody twice',
    (adapter) => ({
      async *listMembers(group, s) {
        for await (const member of adapter.listMembers?.(group, s) ?? []) yield* [member, member];
      },
    }),
  ],
  ['lists nobody', () => ({ async *listMembers() {} })],
  [
    'trips over a name',
    (adapter) => ({
      addMember: async (group, one, s) => {
        if (one.displayName?.includes('<')) throw new Error('400');
        return await adapter.addMember(group, one, s);
      },
    }),
  ],
];

describe('the suite', () => {
  it.each(mistakes)('notices an adapter that %s', async (_what, spoil) => {
    const right = createRosterAdapter({ path: path.join(createFolder(), 'roster.json') });
    const adapter: Adapter = { ...right, ...spoil(right) };
    const noticed: string[] = [];
    for await (const { name, outcome } of runConformance(harnessOf(adapter))) {
      if (outcome === 'failed') noticed.push(name);
    }
    expect(noticed).not.toEqual([]);
  });

  it('asks nothing of lists from an adapter that has none', async () => {
    const { adapter } = createMemoryTool();
    for await (const result of runConformance(harnessOf(adapter))) {
      expect(result).not.toHaveProperty('outcome', 'failed');
    }
  });
});

describe('createAdapter', () => {
  it('makes what is built in', () => {
    const file = path.join(createFolder(), 'roster.json');
    expect(createAdapter('studio', 'roster', { path: file }).capabilities.exclusive).toBe('tool');
  });

  it.each(['', 'Roster', '__proto__', 'constructor', './my-tool.ts'])(
    'has no adapter %j',
    (kind) => {
      expect(() => createAdapter('studio', kind, {})).toThrow(
        `tools.studio.adapter: there is no "${kind}"; there is: http, roster`,
      );
    },
  );

  it('says what is missing in the settings', () => {
    expect(() => createAdapter('studio', 'roster', {})).toThrow(
      'tools.studio.path: a roster needs "path", the JSON file it keeps',
    );
  });
});
