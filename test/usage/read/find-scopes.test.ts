import { expect, it } from 'vitest';
import type { Adapter, AdapterLink } from '../../../src/adapters/adapter.ts';
import { createLinkRouter } from '../../../src/memberships/link-router.ts';
import { createScopeOf } from '../../../src/usage/read/find-scopes.ts';
import { createMemoryTool } from '../../support/memory-tool.ts';

it.each([
  ['of a link within its wall', 'acme-signs', 'scope of acme-signs'],
  ["of no link that is another's", 'globex-signs', undefined],
  ["of no link that is another's in another case", 'GLOBEX-1', undefined],
  ['of no link whose id may be resolved otherwise', 'acme-/../globex-signs', undefined],
  ['of no link for which the adapter throws', 'acme-broken', undefined],
])('work is read %s', (_, externalProjectId, scope) => {
  const usageScopeFor = (link: AdapterLink) => {
    if (link.externalProjectId === 'acme-broken') throw new Error('s3cret');
    return `scope of ${link.externalProjectId}`;
  };
  const { adapter } = createMemoryTool();
  const reading: Adapter = { ...adapter, usageScopeFor, async *readUsage() {} };
  const installs = new Map([
    ['acme', { tool: 'studio', projects: ['acme-*', '*'] }],
    ['globex', { tool: 'studio', projects: ['globex-*'] }],
  ]);
  const adapters = new Map([['studio', reading]]);
  const routeLink = createLinkRouter(installs, adapters);
  const scopeOf = createScopeOf({ adapters, routeLink, links: new Map() });
  const link = { install: 'acme', externalProjectId, externalProjectName: null };
  expect(scopeOf(link)?.scope).toBe(scope);
});
