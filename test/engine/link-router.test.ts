import { describe, expect, it } from 'vitest';
import type { Adapter } from '../../src/adapters/adapter.ts';
import { emptyLink } from '../../src/domain/evidence.ts';
import { createLinkRouter } from '../../src/engine/link-router.ts';
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
      'nowhere where the marketplace provisions it',
      ['*'],
      { provisioningMode: 'MANAGED_ADAPTER' },
      undefined,
    ],
    [
      'to its project where the mode is ours',
      ['*'],
      { provisioningMode: 'PARTNER_WEBHOOK' },
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
