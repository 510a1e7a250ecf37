import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Adapter, Member, Person } from '../../src/adapters/adapter.ts';
import { builtInAdapters } from '../../src/adapters/built-in-adapters.ts';
import type { ConformanceHarness } from '../../src/adapters/conformance/harness.ts';
import { conformanceCases, runConformance } from '../../src/adapters/conformance.ts';
import { createAdapter, loadAdapter } from '../../src/adapters/load-adapters.ts';
import { createRosterAdapter } from '../../src/adapters/roster/roster-adapter.ts';
import { type CvatFakeOptions, openCvatFake } from '../support/cvat-fake.ts';
import { openDoccanoFake } from '../support/doccano-fake.ts';
import { doccanoHarness } from '../support/doccano-harness.ts';
import { createFolder } from '../support/folder.ts';
import { installExamplePackage, trackerFile } from '../support/foreign-adapters.ts';
import { exampleSettings, sparseSettings } from '../support/http-tool-settings.ts';
import { openFakeHarness } from '../support/label-studio/fake-harness.ts';
import { listAll } from '../support/list-all.ts';
import { createMemoryTool } from '../support/memory-tool.ts';
import { openRestTool, type RestTool } from '../support/rest-tool.ts';
import type { Paging, RestToolOptions } from '../support/rest-tool-state.ts';
import type { ScimDialect } from '../support/scim-dialect.ts';
import type { ScimTool } from '../support/scim-front.ts';
import { scimSettings } from '../support/scim-settings.ts';
import { openScimTool } from '../support/scim-tool.ts';
import { openScimmy } from '../support/scimmy-tool.ts';
import { isThorough } from '../support/tries.ts';

function person(index: number): Person {
  const trainerId = `cmu${index}`;
  const email = `trainer.${index}@opentrain.work`;
  return { trainerId, email, displayName: `Trainer ${index}`, memberId: null };
}

/** For a tool that takes only whole lists, and has shown members that Gangway added. */
function personOfShown(index: number): Person {
  return { ...person(index), othersAdded: [] };
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
    faults: tool.faults,
    crowd: 7,
    timeoutMs: 5000,
    seed: async (group, { email }) => tool.seed(group, email),
    seedAccount: async ({ email }) => tool.seedAccount(email),
    hasAccount: async ({ email }) => tool.hasLogin(email),
    giveOut: async (id, email) => tool.giveOut(id, email),
  });
}

const openCvat = (options: CvatFakeOptions) => async () => {
  const { settings, state, faults } = await openCvatFake(options);
  return harnessOf(createAdapter('studio', 'cvat', settings), {
    faults,
    hasEveryGroup: false,
    crowd: 7,
    timeoutMs: 5000,
    seed: async (group, { email }) => void state.invite(group, email, 'worker'),
  });
};

async function loadForeign(adapter: string, settings: object): Promise<Adapter> {
  return await loadAdapter('studio', { adapter, settings: { ...settings } });
}

const pagings = ['page', 'offset', 'cursor', 'link', 'link_header'] as const;

const openSparse = (paging: Paging) => () =>
  openRest((tool) => createAdapter('studio', 'http', sparseSettings(tool, paging)), { paging, refusesRepeats: false });

function harnessOfScim(tool: ScimTool): ConformanceHarness {
  return harnessOf(createAdapter('studio', 'scim', scimSettings(tool)), {
    crowd: 7,
    timeoutMs: 5000,
    seed: async (group, { email }) => void tool.seed({ userName: email }, group),
    seedAccount: async ({ email }) => void tool.seed({ userName: email, active: true }),
    hasAccount: async ({ email }) =>
      tool.users().some(({ userName, active }) => userName === email && active !== false),
    giveOut: async (id, email) => tool.giveOut(id, email),
  });
}

const openScimDialect = (dialect: ScimDialect) => openScimTool({ pageSize: 2, ...dialect }, groups);

/** Fault cases are slow, so only two of the SCIM servers run them. */
function withFaultsOf(tool: ScimTool): ConformanceHarness {
  return { ...harnessOfScim(tool), faults: tool.faults };
}

const aboutHiddenMembers = 'writes back no list of members that it has not read whole';
const noLogins = 'ends a login, and no other';
const ownInvitations = 'invites a person the tool does not know, under an id of their own';
const everyProject = 'accepts every project id, or refuses it';
const needsFaults = conformanceCases.slice(-5).map(({ name }) => name);

/** Cases for tools with several groups, or in which a returning person keeps their account. */
const labelStudio = ['removes a member from no other group', 'adds a removed member again'];

/** Cases for a tool that can be changed from outside, and made to misbehave. */
const needsHands = [
  'finds a member from before, and does not add them a second time',
  ...[noLogins, ownInvitations, ...needsFaults],
];

/** The cases that each adapter skips, besides those for what it does not have. */
const leftOut = new Map([
  ['http, which ends logins', [ownInvitations]],
  ['label-studio', [...labelStudio, ownInvitations]],
  ['label-studio, by a link', [...labelStudio, ...needsFaults]],
  ['scim', [ownInvitations]],
  ['scim, as at Label Studio', [ownInvitations]],
  ['scim, by PUT alone', [ownInvitations, ...needsFaults]],
  ['roster', needsHands],
  ['a package', needsHands],
]);

/** What an adapter or its tool must have for a case, apart from those above. */
const needs: [name: string, isThere: (harness: ConformanceHarness) => unknown][] = [
  ['identifies its installation the same way every time', ({ adapter }) => adapter.identify],
  ['gives one account another address', ({ adapter }) => adapter.updateEmail],
  ['says whether it made an account', changesAccounts],
  ['keeps the account of a member that it removes from a group', ({ adapter }) => adapter.findAccount],
  ['ends no account that it did not make', (harness) => changesAccounts(harness) && harness.seedAccount],
  [aboutHiddenMembers, ({ faults }) => faults?.hideMembers],
  ['ends the assignments of a member who has none, and finishes', ({ adapter }) => adapter.endAssignments],
  ['lists as newcomers the people who came, and not those who are gone', ({ adapter }) => adapter.listNewcomers],
  ['shows the new owner of an id that was given out again', ({ giveOut }) => giveOut],
  ['knows one canonical form of a project id, the same every time', ({ adapter }) => adapter.canonicalGroup],
];

function changesAccounts({ adapter }: ConformanceHarness): boolean {
  return adapter.removeAccount !== undefined || adapter.updateEmail !== undefined;
}

/** The tools to run the suite against, by adapter and dialect. */
const openers = new Map<string, () => ConformanceHarness | Promise<ConformanceHarness>>([
  ['cvat', openCvat({})],
  ['cvat without mail', openCvat({ hasMail: false })],
  ['cvat, where who has an account has to accept', openCvat({ nameOf: (email) => email, mustConfirm: true })],
  [
    'doccano',
    async () => {
      const fake = await openDoccanoFake();
      const harness = await doccanoHarness(fake);
      const giveOut = async (id: string, email: string) => fake.giveOut(Number(id), email);
      return { ...harness, faults: fake.faults, crowd: 7, timeoutMs: 5000, giveOut };
    },
  ],
  ['http', () => openRest((tool) => createAdapter('studio', 'http', exampleSettings(tool)))],
  ...pagings.map((paging) => [`http, a list alone, by ${paging}`, openSparse(paging)] as const),
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
  ['a file', () => openRest((tool) => loadForeign(trackerFile, { url: tool.url, token: tool.token }))],
  ['a package', async () => harnessOf(await loadForeign(installExamplePackage(), {}), { crowd: 7 })],
  ['label-studio', () => openFakeHarness('sign_up')],
  ['label-studio, by a link', () => openFakeHarness('invite_link')],
  ['scim', async () => withFaultsOf(await openScimmy(groups))],
  [
    'scim, as at Label Studio',
    async () => {
      const dialect = { patch: [], idIsName: true, absentIs404: true, config: null };
      const { giveOut: _, ...harness } = withFaultsOf(await openScimDialect(dialect));
      return { ...harness, person: personOfShown };
    },
  ],
  [
    'scim, by PUT alone',
    async () => {
      const config = { patch: { supported: false } };
      return {
        ...harnessOfScim(await openScimDialect({ patch: [], emptyBodies: true, config })),
        person: personOfShown,
      };
    },
  ],
  [
    'roster',
    () => {
      const adapter = createRosterAdapter({ path: path.join(createFolder(), 'roster.json') });
      return harnessOf(adapter, { crowd: 7 });
    },
  ],
]);

/** One dialect of each adapter runs all cases. No dialect changes how faults are handled, so a local run leaves them out. */
const withoutFaults = new Set([
  ...['cvat without mail', 'cvat, where who has an account has to accept', 'scim, as at Label Studio'],
  ...['http, which ends logins', ...pagings.map((paging) => `http, a list alone, by ${paging}`)],
]);

it('is run against every adapter that is built in', () => {
  expect([...openers.keys()]).toEqual(expect.arrayContaining([...builtInAdapters]));
  expect([...openers.keys()]).toEqual(expect.arrayContaining([...withoutFaults, ...leftOut.keys()]));
});

describe.each([...openers])('one tool with the adapter %s', (name, open) => {
  it('runs every case that it can, passes, and leaves no members behind', async () => {
    const harness = await open();
    const before = await listGroups(harness);
    const isShort = !isThorough && withoutFaults.has(name);
    const cases = conformanceCases.filter((one) => !isShort || !needsFaults.includes(one.name));
    const run = new Set(cases.map((one) => one.name));
    const results = await Array.fromAsync(runConformance(harness, cases));
    const namesOf = (outcome: string) =>
      results.filter((result) => result.outcome === outcome).map((result) => result.name);
    expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
    const left = [
      ...(leftOut.get(name) ?? [noLogins, ownInvitations]),
      ...(harness.hasEveryGroup ? [] : [everyProject]),
      ...needs.flatMap(([one, isThere]) => (isThere(harness) ? [] : [one])),
    ];
    expect(namesOf('skipped').sort()).toEqual(left.filter((one) => run.has(one)).sort());
    expect(await listGroups(harness)).toEqual(before);
  });
});

async function listGroups({ adapter, groups: of }: ConformanceHarness): Promise<Member[][]> {
  const { signal } = new AbortController();
  return await Promise.all(of.map((group) => listAll(adapter, group, signal)));
}

/** Faulty adapters, each of which some case must notice. */
const mistakes: [string, (adapter: Adapter) => Partial<Adapter>][] = [
  ['finds every person', (adapter) => ({ findMember: (g, p, s) => adapter.addMember(g, p, s) })],
  ['finds no person', () => ({ findMember: async () => null })],
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
        adapter.findMember(g, { ...p, trainerId: p.email.includes('T') ? p.email : p.trainerId }, s),
    }),
  ],
  ['takes a name for the group', () => ({ groupFor: (link) => link.externalProjectName ?? '' })],
  ['makes every project one group', () => ({ groupFor: () => groups[0] })],
  [
    'gives a project another form each time',
    () => {
      let asked = 0;
      return {
        canonicalGroup(project: string) {
          asked += 1;
          return `${project}${asked}`;
        },
      };
    },
  ],
  ['gives a form that has another form', () => ({ canonicalGroup: (project) => `/${project}` })],
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
    'lists a member twice',
    (adapter) => ({
      async *listMembers(group, s) {
        for await (const member of adapter.listMembers?.(group, s) ?? []) yield* [member, member];
      },
    }),
  ],
  ['lists no member', () => ({ async *listMembers() {} })],
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

/** Faults of an adapter for a tool with accounts: it ends or claims another person's account. */
const mistakesAboutAccounts: [string, (adapter: Adapter) => Partial<Adapter>][] = [
  [
    'ends the account of whomever it takes out',
    (adapter) => ({ removeMember: (g, m, s) => adapter.removeAccount?.(g, m, s) ?? never() }),
  ],
  ['finds no account', () => ({ findAccount: async () => null })],
  [
    'answers an id with the address that it was asked for',
    (adapter) => ({
      async findMember(g, p, s) {
        const found = await adapter.findMember(g, p, s);
        return found && { ...found, email: p.email };
      },
    }),
  ],
  [
    'says that it made every account',
    (adapter) => ({
      findAccount: async () => null,
      addMember: async (g, p, s) => ({ ...(await adapter.addMember(g, p, s)), account: 'made' }),
    }),
  ],
  [
    'says that it found every account',
    (adapter) => ({
      addMember: async (g, p, s) => ({ ...(await adapter.addMember(g, p, s)), account: 'found' }),
    }),
  ],
];

function never(): never {
  throw new Error('ends no logins');
}

async function openNamed(name: string): Promise<ConformanceHarness> {
  const harness = await openers.get(name)?.();
  if (harness === undefined) throw new Error('no such opener');
  return harness;
}

/** The first case that fails. Later cases are not run. */
async function findFailure(harness: ConformanceHarness): Promise<string | undefined> {
  for await (const { name, outcome } of runConformance(harness)) if (outcome === 'failed') return name;
  return undefined;
}

describe('the suite', () => {
  it.each(mistakesAboutAccounts)('notices an adapter that %s', async (_what, spoil) => {
    const { faults: _, ...harness } = await openNamed('http, which ends logins');
    const adapter: Adapter = { ...harness.adapter, ...spoil(harness.adapter) };
    expect(await findFailure({ ...harness, adapter })).toBeDefined();
  });

  it('fails an adapter that changes accounts but cannot say who created them', async () => {
    const { faults: _, ...harness } = await openNamed('http, which ends logins');
    const { findAccount: __, ...adapter } = harness.adapter;
    const results = await Array.fromAsync(runConformance({ ...harness, adapter }));
    const failed = results.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
    expect(failed).toContain('says whether it made an account');
  });

  it.each(mistakes)('notices an adapter that %s', async (_what, spoil) => {
    const right = createRosterAdapter({ path: path.join(createFolder(), 'roster.json') });
    const adapter: Adapter = { ...right, ...spoil(right) };
    expect(await findFailure(harnessOf(adapter))).toBeDefined();
  });

  it('fails an adapter that writes back an incomplete list', async () => {
    const harness = await openNamed('scim, as at Label Studio');
    const { addMember } = harness.adapter;
    const adapter: Adapter = {
      ...harness.adapter,
      addMember: (group, one, signal) => addMember(group, { ...one, othersAdded: [] }, signal),
    };
    const cases = conformanceCases.filter(({ name }) => name === aboutHiddenMembers);
    const results = await Array.fromAsync(runConformance({ ...harness, adapter }, cases));
    expect(results).toMatchObject([{ name: aboutHiddenMembers, outcome: 'failed' }]);
  });

  it('skips the cases about lists for an adapter without lists', async () => {
    const { adapter } = createMemoryTool();
    for await (const result of runConformance(harnessOf(adapter))) {
      expect(result).not.toHaveProperty('outcome', 'failed');
    }
  });
});

describe('createAdapter', () => {
  it('makes every built-in adapter', () => {
    const file = path.join(createFolder(), 'roster.json');
    expect(createAdapter('studio', 'roster', { path: file }).capabilities.exclusive).toBe('tool');
  });

  it.each(['', 'Roster', '__proto__', 'constructor', './my-tool.ts'])('has no adapter %j', (kind) => {
    expect(() => createAdapter('studio', kind, {})).toThrow(
      `tools.studio.adapter: there is no "${kind}"; there is: ${builtInAdapters.join(', ')}`,
    );
  });

  it('says what is missing in the settings', () => {
    expect(() => createAdapter('studio', 'roster', {})).toThrow(
      'tools.studio.path: a roster needs "path", the JSON file it keeps',
    );
  });
});
