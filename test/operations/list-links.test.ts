import { expect, it } from 'vitest';
import type { Adapter, AdapterLink } from '../../src/adapters/adapter.ts';
import { Link } from '../../src/marketplace/contract/platform.ts';
import type { Source } from '../../src/marketplace/source.ts';
import { createLinkRouter } from '../../src/memberships/wall.ts';
import { listLinks } from '../../src/operations/links.ts';
import { createTestContext, inStudio } from '../support/engine-harness.ts';
import { createMemoryTool } from '../support/memory-tool.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const projects = ['acme-signs', 'globex-1', 'ACME-1', 'a/../b', 'acme-broken'];

describeAnyDatabase('the list of links', (openFresh) => {
  it('says where each link leads, and why it is outside', async () => {
    const groupFor = ({ externalProjectId }: AdapterLink) => {
      if (externalProjectId === 'acme-broken') throw new Error('s3cret');
      return externalProjectId;
    };
    const installs = new Map([
      ['acme', inStudio(['acme-*', 'ACME-*'])],
      ['initech', inStudio(['acme-1'])],
    ]);
    const { adapter } = createMemoryTool();
    const adapters = new Map<string, Adapter>([['studio', { ...adapter, groupFor }]]);
    const links = projects.map((externalProjectId) => Link.parse({ id: externalProjectId, externalProjectId }));
    for (const provisioningMode of ['MANAGED_ADAPTER', 'CUSTOM_MODE']) {
      const externalProjectId = 'acme-other';
      links.push(Link.parse({ id: provisioningMode, externalProjectId, provisioningMode }));
    }
    const ctx = createTestContext(await openFresh(), {
      installs,
      adapters,
      routeLink: createLinkRouter(installs, adapters),
      sources: new Map([['acme', { listLinks: async () => links } as unknown as Source]]),
    });
    const listed = await listLinks(ctx, ['acme'], new AbortController().signal);
    expect(listed.unread).toEqual([]);
    expect(listed.links.map(({ leads, outside }) => [leads, outside])).toEqual([
      ['here', null],
      ['outside', 'not_named'],
      ['outside', 'anothers'],
      ['outside', 'strange_id'],
      ['outside', 'no_group'],
      ['managed', null],
      ['outside', 'unknown_mode'],
    ]);
  });
});
