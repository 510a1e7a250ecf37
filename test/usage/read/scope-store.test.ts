import { expect, it } from 'vitest';
import type { Adapter, AdapterLink } from '../../../src/adapters/adapter.ts';
import type { Database } from '../../../src/db/database.ts';
import { createLinkRouter } from '../../../src/memberships/wall.ts';
import { scopeOfLink } from '../../../src/usage/read/scope-store.ts';
import { createTestContext, inStudio } from '../../support/engine-harness.ts';
import { createMemoryTool } from '../../support/memory-tool.ts';

it.each([
  ['of a link within the wall of its install', 'acme-signs', 'scope of acme-signs'],
  ['of no link of another install', 'globex-signs', undefined],
  ['of no link of another install in another case', 'GLOBEX-1', undefined],
  ['of no link with dot segments', 'acme-/../globex-signs', undefined],
  ['of no link for which the adapter throws', 'acme-broken', undefined],
])('work is read %s', (_, externalProjectId, scope) => {
  const usageScopeFor = (link: AdapterLink) => {
    if (link.externalProjectId === 'acme-broken') throw new Error('s3cret');
    return `scope of ${link.externalProjectId}`;
  };
  const { adapter } = createMemoryTool();
  const reading: Adapter = { ...adapter, usageScopeFor, async *readUsage() {} };
  const installs = new Map([
    ['acme', inStudio(['acme-*', '*'])],
    ['globex', inStudio(['globex-*'])],
  ]);
  const adapters = new Map([['studio', reading]]);
  const ctx = createTestContext({} as Database, { adapters, routeLink: createLinkRouter(installs, adapters) });
  const link = { install: 'acme', externalProjectId, externalProjectName: null };
  expect(scopeOfLink(ctx, link)?.scope).toBe(scope);
});
