import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Adapter, Person } from '../../src/adapters/adapter.ts';
import { conformanceCases } from '../../src/adapters/conformance.ts';
import { builtInAdapters, createAdapter } from '../../src/adapters/create-adapter.ts';
import { createRosterAdapter } from '../../src/adapters/roster/roster-adapter.ts';
import { createFolder } from '../support/folder.ts';
import { listAll } from '../support/list-all.ts';
import { createMemoryTool } from '../support/memory-tool.ts';

function person(index: number): Person {
  const trainerId = `cmu${index}`;
  const email = `trainer.${index}@opentrain.work`;
  return { trainerId, email, displayName: `Trainer ${index}`, memberId: null };
}

const groups = ['street-signs', 'street-lamps'] as const;

/** By the name in `tools.<name>.adapter`: a tool to run the suite against. */
const openers = new Map<string, () => Adapter>([
  ['roster', () => createRosterAdapter({ path: path.join(createFolder(), 'roster.json') })],
]);

it('is run against every adapter that is built in', () => {
  expect([...openers.keys()]).toEqual(builtInAdapters);
});

describe.each([...openers])('the adapter %s', (_name, open) => {
  it.each(conformanceCases)('$name', async ({ run }) => {
    await run({ adapter: open(), groups, person, hasEveryGroup: true });
  });

  it('leaves nobody behind when one tool is used for the whole suite', async () => {
    const adapter = open();
    for (const { run } of conformanceCases) {
      await run({ adapter, groups, person, hasEveryGroup: true });
    }
    const { signal } = new AbortController();
    for (const group of groups) {
      expect(await listAll(adapter, group, signal)).toEqual([]);
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
    for (const { name, run } of conformanceCases) {
      await run({ adapter, groups, person, hasEveryGroup: true }).catch(() => noticed.push(name));
    }
    expect(noticed).not.toEqual([]);
  });

  it('asks nothing of lists from an adapter that has none', async () => {
    const { adapter } = createMemoryTool();
    for (const { run } of conformanceCases)
      await run({ adapter, groups, person, hasEveryGroup: true });
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
        `tools.studio.adapter: there is no "${kind}"; there is: roster`,
      );
    },
  );

  it('says what is missing in the settings', () => {
    expect(() => createAdapter('studio', 'roster', {})).toThrow(
      'tools.studio: a roster needs "path", the JSON file it keeps',
    );
  });
});
