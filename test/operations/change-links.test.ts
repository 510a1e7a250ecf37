import { expect, it } from 'vitest';
import type { Link, Source } from '../../src/marketplace/source.ts';
import { addLink, removeLink } from '../../src/operations/change-links.ts';
import { createTestContext, inStudio } from '../support/engine-harness.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const { signal } = new AbortController();
const link: Link = { id: 'l1', externalProjectId: 'signs', externalProjectName: null, provisioningMode: null };
const unchangeable = { code: 'conflict', message: 'The links of acme cannot be changed at the marketplace' };

describeAnyDatabase('links of a source that cannot change them', (openFresh) => {
  it('are neither added nor removed, and the operator learns why', async () => {
    const database = await openFresh();
    const source = { listLinks: async () => [link] } as unknown as Source;
    const [installs, sources] = [new Map([['acme', inStudio()]]), new Map([['acme', source]])];
    const ctx = createTestContext(database, { installs, sources });
    const by = { actor: 'ada', at: '2026-03-15T12:00:00.000Z' };
    const added = addLink(ctx, by, 'acme', { externalProjectId: 'lamps' }, signal);
    await expect(added).rejects.toMatchObject(unchangeable);
    await expect(removeLink(ctx, by, 'acme', link, signal)).rejects.toMatchObject(unchangeable);
    expect(await database.kysely.selectFrom('audit').selectAll().execute()).toEqual([]);
  });
});
