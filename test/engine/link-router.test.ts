import { describe, expect, it } from 'vitest';
import type { Adapter } from '../../src/adapters/adapter.ts';
import { emptyLink } from '../../src/domain/evidence.ts';
import { createLinkRouter, isOutside } from '../../src/engine/link-router.ts';
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

  it.each(['globex', '__proto__', 'constructor'])(
    'nowhere for the unknown install %s',
    (install) => {
      expect(route(['*'], {}, install)).toBeUndefined();
    },
  );

  it('nowhere where its tool has no adapter', () => {
    const installs = new Map([['acme', { tool: 'gone', projects: ['*'] }]]);
    const routeLink = createLinkRouter(installs, adapters);
    expect(routeLink({ ...emptyLink('acme', 'l1'), externalProjectId: 'p' })).toBeUndefined();
  });
});

/** Installs by name, as `tool: patterns`. */
function newInstalls(written: Record<string, [tool: string, ...projects: string[]]>) {
  return new Map(
    Object.entries(written).map(([name, [tool, ...projects]]) => [name, { tool, projects }]),
  );
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
    expect(isOutside(installs, link)).toBe(outside);
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
    const isOut = (name: string) => isOutside(installs, { ...emptyLink(name, 'l1'), ...signs });
    expect([isOut('acme'), isOut('globex')]).toEqual(outside);
  });

  it('does not come between installs that each have a tool', () => {
    const installs = newInstalls({ acme: ['studio', '*'], globex: ['other', 'signs'] });
    const link = { ...emptyLink('acme', 'l1'), externalProjectId: 'signs' };
    expect(isOutside(installs, link)).toBe(false);
    expect(createLinkRouter(installs, adapters)(link)).toEqual({
      ...{ tool: 'studio', groupId: 'signs' },
    });
  });

  it('is not crossed by a link of which nothing is known, or of nobody', () => {
    const installs = newInstalls({ acme: ['studio', 'signs'] });
    expect(isOutside(installs, emptyLink('acme', 'l1'))).toBe(false);
    const ofNobody = { ...emptyLink('gone', 'l1'), externalProjectId: 'lamps' };
    expect(isOutside(installs, ofNobody)).toBe(false);
  });
});
