import assert from 'node:assert/strict';
import { describe, expect, it } from 'vitest';
import type { Adapter } from '../../src/adapters/adapter.ts';
import { emptyLink } from '../../src/domain/evidence.ts';
import { createLinkRouter, crossingOf, installsReaching } from '../../src/memberships/wall.ts';
import { createMemoryTool } from '../support/memory-tool.ts';

const { adapter } = createMemoryTool();
const adapters = new Map<string, Adapter>([['studio', adapter]]);

function route(projects: string[], attributes: object, install = 'acme') {
  const routeLink = createLinkRouter(new Map([['acme', { tool: 'studio', projects }]]), adapters);
  return routeLink({ ...emptyLink(install, 'l1'), externalProjectId: 'team-a', ...attributes });
}

const toTeamA = { tool: 'studio', groupId: 'team-a' };

describe('a link leads', () => {
  it.each([
    ['to its project where all are allowed', ['*'], {}, toTeamA],
    ['to its project where it is named', ['other', 'team-a'], {}, toTeamA],
    ['to its project where the prefix fits', ['team-*'], {}, toTeamA],
    ['nowhere where the prefix is another', ['teams-*'], {}, undefined],
    ['nowhere where only its beginning is named', ['team'], {}, undefined],
    ['nowhere where nothing is allowed', [], {}, undefined],
    ['nowhere while its project is unknown', ['*'], { externalProjectId: null }, undefined],
    [
      // Who is released there, rather than removed, is decided where memberships are judged.
      'to its project where the marketplace provisions it, too',
      ['*'],
      { provisioningMode: 'MANAGED_ADAPTER' },
      toTeamA,
    ],
    [
      'to a project with a hostile name',
      ['*'],
      { externalProjectId: '__proto__' },
      { tool: 'studio', groupId: '__proto__' },
    ],
  ])('%s', (_, projects, attributes, expected) => {
    expect(route(projects, attributes)).toEqual(expected);
  });

  it.each(['globex', '__proto__', 'constructor'])('nowhere for the unknown install %s', (install) => {
    expect(route(['*'], {}, install)).toBeUndefined();
  });

  it('nowhere if its tool has no adapter', () => {
    const installs = new Map([['acme', { tool: 'gone', projects: ['*'] }]]);
    const routeLink = createLinkRouter(installs, adapters);
    expect(routeLink({ ...emptyLink('acme', 'l1'), externalProjectId: 'p' })).toBeUndefined();
  });
});

/** Installs by name, as `tool: patterns`. */
function newInstalls(written: Record<string, [tool: string, ...projects: string[]]>) {
  return new Map(Object.entries(written).map(([name, [tool, ...projects]]) => [name, { tool, projects }]));
}

describe('the wall around a customer', () => {
  it.each<[string, string[], string, boolean]>([
    ['has a project inside that is named', ['signs'], 'signs', false],
    ['has a project outside that is not', ['signs'], 'lamps', true],
    ['has a project outside that only begins like one', ['signs'], 'signs-2', true],
    ['has a project outside that is the beginning of one', ['signs-2'], 'signs', true],
    ['has everything inside by *', ['*'], 'lamps', false],
    ['has what a prefix begins inside', ['team-*'], 'team-a', false],
    ['has the prefix itself inside', ['team-*'], 'team-', false],
    ['has another case outside', ['team-*'], 'Team-a', true],
    ['has nothing inside where nothing is named', [], 'signs', true],
    ['does not take a * in a project for a pattern', ['team-a'], 'team-*', true],
  ])('%s', (_, projects, externalProjectId, outside) => {
    const installs = newInstalls({ acme: ['studio', ...projects] });
    const link = { ...emptyLink('acme', 'l1'), externalProjectId };
    expect(crossingOf({ installs, adapters }, link)).toBe(outside ? 'not_named' : null);
    expect(createLinkRouter(installs, adapters)(link)).toEqual(
      outside ? undefined : { tool: 'studio', groupId: externalProjectId },
    );
  });

  it.each<[string, string[], string[], [acme: boolean, globex: boolean]]>([
    ['the one that names it, and not to one with all', ['*'], ['signs'], [true, false]],
    ['the one that names it, and not to a prefix', ['sign*'], ['signs'], [true, false]],
    ['the one that names it, and not to a prefix as long', ['signs*'], ['signs'], [true, false]],
    ['the one with the longer prefix', ['s*'], ['sign*'], [true, false]],
    ['the one with any prefix, and not to one with all', ['*'], ['s*'], [true, false]],
    ['the one whose best pattern is closest', ['*', 'signs'], ['sign*'], [false, true]],
    ['both that name it', ['signs'], ['signs'], [false, false]],
    ['both with the same prefix', ['sign*', 'lamps'], ['*', 'sign*'], [false, false]],
    ['both that have all', ['*'], ['*'], [false, false]],
    ['the only one that fits, whatever else the other has', ['*'], ['signs-2'], [false, true]],
  ])('gives a project of a shared tool to %s', (_, acme, globex, outside) => {
    const installs = newInstalls({ acme: ['studio', ...acme], globex: ['studio', ...globex] });
    const signs = { externalProjectId: 'signs' };
    const isOut = (name: string) => crossingOf({ installs, adapters }, { ...emptyLink(name, 'l1'), ...signs }) !== null;
    expect([isOut('acme'), isOut('globex')]).toEqual(outside);
  });

  it('does not separate installs with tools of their own', () => {
    const installs = newInstalls({ acme: ['studio', '*'], globex: ['other', 'signs'] });
    const link = { ...emptyLink('acme', 'l1'), externalProjectId: 'signs' };
    expect(crossingOf({ installs, adapters }, link)).toBeNull();
    expect(createLinkRouter(installs, adapters)(link)).toEqual({ tool: 'studio', groupId: 'signs' });
  });

  it('is not crossed by a link without a project or with an unknown install', () => {
    const installs = newInstalls({ acme: ['studio', 'signs'] });
    expect(crossingOf({ installs, adapters }, emptyLink('acme', 'l1'))).toBeNull();
    const ofNone = { ...emptyLink('gone', 'l1'), externalProjectId: 'lamps' };
    expect(crossingOf({ installs, adapters }, ofNone)).toBeNull();
  });
});

/** What a tool that parses numbers takes for 1, 10 or 2. */
const respelt = [
  ...[
    '01',
    '001',
    '+1',
    '+01',
    '-0',
    '1.0',
    '1.',
    '01.0',
    '1e0',
    '10e-1',
    '.1e1',
    '1_0',
    '1,0',
    "1'0",
    '0x1',
    '0b1',
    '-0x1',
  ],
  ...[
    '\uff11',
    '\uff0b1',
    '\uff11.0',
    '1\uff0e0',
    '\u0661',
    '\u0661\u0660',
    '+\u0661',
    '\u0967',
    '\ufe631',
    '\u00b9',
    '\u2460',
  ],
  ...['\u{1d7cf}', '\u0661\u066b\u0660', '\u22121', '1\u0660'],
];

const strange = [
  'a-/../b-1',
  'a-/b-1',
  'a-\\b-1',
  'a-%2fb-1',
  'a-\uff0fb-1',
  'a-\uff05b-1',
  '.',
  '..',
  '\uff0e\uff0e',
  '',
  ' a-1',
  'a-1 ',
  'a-1\u00a0',
  '\u3000a-1',
  'a-\u0000',
  'a-\n1',
  'a-\u200b1',
  'a-\u202e1',
  'a-\ud800',
  'a-\u{e0041}',
  'a-\u{378}',
  ...respelt,
];

describe('an id that a tool may resolve differently', () => {
  const link = (externalProjectId: string) => ({ ...emptyLink('acme', 'l1'), externalProjectId });
  const installs = newInstalls({ acme: ['studio', '*', 'a-*', ...strange] });

  /** The walls of a tool whose adapter knows the forms of ids. */
  const wallsOf = (canonicalGroup: unknown) => ({
    installs,
    adapters: new Map([['studio', { ...adapter, canonicalGroup } as Adapter]]),
  });

  it.each(strange)('is outside every wall, though it is named: %j', (projectId) => {
    expect(crossingOf({ installs, adapters }, link(projectId))).toBe('strange_id');
    expect(createLinkRouter(installs, adapters)(link(projectId))).toBeUndefined();
  });

  it.each([
    ...[
      'a-1',
      'a.b',
      '...',
      'a-1.',
      'プロジェクト',
      "o'neil & co",
      '12',
      '0',
      '-100123',
      '1.2.3',
      '2026-03',
      '1a',
      'a01',
    ],
    ...['12345e67', '0xdeadbeefdeadbeef', '5f0c', '1e', 'e1', '+', '0x'],
  ])('is not %j', (projectId) => {
    expect(crossingOf({ installs, adapters }, link(projectId))).toBeNull();
  });

  it('is inside only if the adapter says that this is its canonical form', () => {
    const asPath = (id: string) => (id.includes('..') ? null : id.toLowerCase());
    const { adapters: knowing } = wallsOf(asPath);
    const of = (id: string) => crossingOf({ installs, adapters: knowing }, link(id));
    expect(of('a-/b-1')).toBeNull();
    expect(of('A-/b-1')).toBe('strange_id');
    expect(of('a-/../b-1')).toBe('strange_id');
    expect(of('')).toBe('no_group');
    const walled = newInstalls({ acme: ['studio', 'a-*'] });
    expect(crossingOf({ installs: walled, adapters: knowing }, link('b/1'))).toBe('not_named');
  });

  it.each([
    ['throws', () => assert.fail('s3cret')],
    ['answers neither text nor null', () => 7],
  ])('is outside where its adapter %s', (_, canonicalGroup) => {
    expect(crossingOf(wallsOf(canonicalGroup), link('a-1'))).toBe('no_group');
  });
});

describe('a number in another spelling', () => {
  it.each(respelt)('led an install with * into the project 1 of another: %j', (externalProjectId) => {
    const installs = newInstalls({ acme: ['studio', '*'], globex: ['studio', '1', '2', '10'] });
    for (const name of ['acme', 'globex'])
      expect(crossingOf({ installs, adapters }, { ...emptyLink(name, 'l1'), externalProjectId })).toBe('strange_id');
  });
});

describe("a variant of another install's project", () => {
  it.each<[string, string[], string[], string]>([
    ['in another case', ['*'], ['b-*'], 'B-1'],
    ['in another case, named whole', ['*'], ['b-1'], 'B-1'],
    ['in another case than a longer prefix', ['B*'], ['b-*'], 'B-1'],
    ['with wide letters', ['*'], ['b-*'], '\uff42-1'],
    ['with a letter that is the same in the other case', ['*'], ['strasse'], 'STRAßE'],
    ['with a composed letter', ['*'], ['cafe\u0301-*'], 'caf\u00e9-1'],
    ['without an accent', ['*'], ['caf\u00e9-*'], 'cafe-1'],
    ['with an invisible character', ['*'], ['b-*'], 'b\u3164-1'],
    ['with the sign of a unit', ['*'], ['k-*'], '\u212a-1'],
    ['with a dotless letter', ['*'], ['i-*'], '\u0131-1'],
  ])('is outside %s', (_, acme, globex, externalProjectId) => {
    const installs = newInstalls({ acme: ['studio', ...acme], globex: ['studio', ...globex] });
    const link = { ...emptyLink('acme', 'l1'), externalProjectId };
    expect(crossingOf({ installs, adapters }, link)).toBe('anothers');
    expect(createLinkRouter(installs, adapters)(link)).toBeUndefined();
  });

  it('is inside if its own install names it exactly, or the other install has another tool', () => {
    const link = { ...emptyLink('acme', 'l1'), externalProjectId: 'B-1' };
    const named = newInstalls({ acme: ['studio', 'B-1'], globex: ['studio', 'b-*', 'b-1'] });
    expect(crossingOf({ installs: named, adapters }, link)).toBeNull();
    const apart = newInstalls({ acme: ['studio', '*'], globex: ['other', 'b-*'] });
    expect(crossingOf({ installs: apart, adapters }, link)).toBeNull();
    const alike = newInstalls({ acme: ['studio', 'B-*'], globex: ['studio', 'b-*'] });
    expect(crossingOf({ installs: alike, adapters }, link)).toBeNull();
  });
});

describe('an adapter that breaks its contract', () => {
  it.each([
    ['throws', () => assert.fail('s3cret')],
    ['answers nothing', () => undefined],
    ['answers an empty text', () => ''],
    ['answers a number', () => 7],
  ])('leaves that link outside where its groupFor %s', (_, groupFor) => {
    const broken = { ...adapter, groupFor } as unknown as Adapter;
    const walls = {
      installs: newInstalls({ acme: ['studio', '*'] }),
      adapters: new Map([['studio', broken]]),
    };
    const link = { ...emptyLink('acme', 'l1'), externalProjectId: 'signs' };
    expect(crossingOf(walls, link)).toBe('no_group');
    expect(createLinkRouter(walls.installs, walls.adapters)(link)).toBeUndefined();
  });
});

describe('a group may be reached', () => {
  const project = (externalProjectId: string) => ({ externalProjectId, externalProjectName: null });

  it.each<[string, Record<string, string[]>, string[]]>([
    ['by all that name its project as closely', { acme: ['*'], globex: ['*'] }, ['acme', 'globex']],
    ['by those alone that do', { acme: ['signs'], globex: ['signs'], else: ['*'] }, ['acme', 'globex']],
    ['by one alone where the others have walls', { acme: ['signs'], globex: ['lamps*'] }, ['acme']],
  ])('%s', (_how, projects, expected) => {
    const installs = new Map(
      Object.entries(projects).map(([name, named]) => [name, { tool: 'studio', projects: named }]),
    );
    installs.set('elsewhere', { tool: 'other', projects: ['*'] });
    const signs = { tool: 'studio', groupId: 'signs' };
    const reaching = installsReaching(installs, createLinkRouter(installs, adapters), signs, [project('signs')]);
    expect([...reaching].sort()).toEqual(expected);
  });

  it('by all installs of a tool that has one group, whatever their projects', () => {
    const installs = new Map([
      ['acme', { tool: 'studio', projects: ['acme-*'] }],
      ['globex', { tool: 'studio', projects: ['globex'] }],
    ]);
    const oneGroup = new Map([['studio', { ...adapter, groupFor: () => 'organisation' }]]);
    const organisation = { tool: 'studio', groupId: 'organisation' };
    const routeLink = createLinkRouter(installs, oneGroup);
    expect([...installsReaching(installs, routeLink, organisation, [project('acme-1')])]).toEqual(['acme', 'globex']);
  });
});
