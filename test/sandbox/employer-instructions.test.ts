import { describe, expect, it } from 'vitest';
import { type AccountWorld, openAccount } from './account-harness.ts';
import { request } from './sandbox-harness.ts';

const saying = (text: string) => ({
  type: 'doc',
  content: [{ type: 'paragraph', content: [{ type: 'text', text }] }],
});

describe('the instructions of an account', () => {
  it('are found from the workspace to the page of a publication, by number and manifest', async () => {
    const world = await openAccount();
    const { sandbox, accountId, jobId, api } = world;
    const bindings = [{ kind: 'JOB' as const, targetId: jobId, precedence: 1 }];
    const pages = [
      { title: 'Cars', content: saying('Draw a box.') },
      { title: 'Vans', content: saying('A van is a car.'), parent: 0 },
    ];
    const { manualId, pageIds } = sandbox.createManual(accountId, { title: 'Streets', bindings, pages });
    sandbox.publishManual(manualId, { note: 'first' });

    const [workspace] = (await api('GET', '/instructions/workspaces')).body.workspaces;
    const { body } = await api('GET', `/instructions/workspaces/${workspace.id}/manuals`);
    const manual = { id: manualId, title: 'Streets', audience: 'WORKER', bindings, head: { revisionNumber: 1 } };
    expect(body).toEqual({ manuals: [manual], nextCursor: null });
    expect((await api('GET', `/instructions/manuals/${manualId}`)).body).toEqual({ manual });
    expect(await published(world, manualId)).toMatchObject([
      { publicationNumber: 1, baseRevisionNumber: 1, audiences: ['WORKER'], note: 'first' },
    ]);
    const listed = await manifest(world, manualId, 1);
    expect(listed).toMatchObject({
      publicationNumber: 1,
      revisionNumber: 1,
      pages: [
        { pageId: pageIds[0], title: 'Cars', revision: 1, parentId: null, position: 0, audience: 'WORKER' },
        { pageId: pageIds[1], title: 'Vans', revision: 1, parentId: pageIds[0], position: 0, audience: 'WORKER' },
      ],
    });
    const { page } = (await api('GET', `/instructions/pages/${pageIds[1]}?revision=1&format=json`)).body;
    expect(page).toMatchObject({ pageId: pageIds[1], title: 'Vans', revision: 1, content: saying('A van is a car.') });
    expect(page.checksum).toBe(listed.pages[1].checksum);
  });

  it('stay as they were published while their draft changes', async () => {
    const world = await openAccount();
    const { sandbox, accountId, api } = world;
    const pages = [{ title: 'Cars', content: saying('Draw a box.') }];
    const { manualId, pageIds } = sandbox.createManual(accountId, { pages });
    expect(await published(world, manualId)).toEqual([]);
    sandbox.publishManual(manualId);
    const before = await manifest(world, manualId, 1);
    sandbox.editPage(pageIds[0] ?? '', { content: saying('Draw a polygon.') });
    expect(await manifest(world, manualId, 1)).toEqual(before);
    const path = `/instructions/pages/${pageIds[0]}`;
    expect((await api('GET', `${path}?revision=1`)).body.page.content).toEqual(saying('Draw a box.'));
    expect((await api('GET', path)).body.page).toMatchObject({ revision: 2, content: saying('Draw a polygon.') });

    sandbox.publishManual(manualId);
    expect((await published(world, manualId)).map((one) => one.publicationNumber)).toEqual([2, 1]);
    const [page] = (await manifest(world, manualId, 2)).pages;
    expect(page.revision).toBe(2);
    expect(page.checksum).not.toBe(before.pages[0].checksum);
  });

  it('are published for audiences, and a manifest is filtered by one', async () => {
    const world = await openAccount();
    const pages = [{ title: 'For all' }, { title: 'For reviewers', audience: 'REVIEWER' as const }];
    const { manualId } = world.sandbox.createManual(world.accountId, { pages });
    world.sandbox.publishManual(manualId);
    world.sandbox.publishManual(manualId, { audiences: ['WORKER', 'REVIEWER'] });
    expect(await titles(world, manualId, 1)).toEqual(['For all']);
    expect(await titles(world, manualId, 2)).toEqual(['For all', 'For reviewers']);
    expect(await titles(world, manualId, 2, '?audience=WORKER')).toEqual(['For all']);
  });

  it('can be bound anew, and are gone once they are archived', async () => {
    const { sandbox, accountId, api } = await openAccount();
    const { manualId } = sandbox.createManual(accountId, { pages: [{ title: 'Cars' }] });
    sandbox.publishManual(manualId);
    const bindings = [{ kind: 'JOB' as const, targetId: 'job_1', precedence: 2 }];
    sandbox.bindManual(manualId, { bindings });
    const path = `/instructions/manuals/${manualId}`;
    expect((await api('GET', path)).body.manual.bindings).toEqual(bindings);
    sandbox.archiveManual(manualId);
    expect((await api('GET', path)).status).toBe(404);
    expect((await api('GET', `${path}/publications`)).status).toBe(404);
    expect(() => sandbox.archiveManual(manualId)).toThrow('No manual');
  });

  it('are listed in pages', async () => {
    const { sandbox, accountId, api } = await openAccount();
    const ids = ['a', 'b', 'c'].map((title) => sandbox.createManual(accountId, { pages: [{ title }] }).manualId);
    const path = `/instructions/workspaces/wsp_${accountId}/manuals?limit=2`;
    const { body: first } = await api('GET', path);
    const { body: last } = await api('GET', `${path}&cursor=${first.nextCursor}`);
    expect([...first.manuals, ...last.manuals].map(({ id }: { id: string }) => id)).toEqual(ids);
    expect(last.nextCursor).toBeNull();
  });

  it('need their scope, and are hidden from other accounts', async () => {
    const { sandbox, accountId, api } = await openAccount();
    const { manualId, pageIds } = sandbox.createManual(accountId, { pages: [{ title: 'Cars' }] });
    const { token: narrow } = sandbox.createAccount({ scopes: ['jobs:read'] });
    const refused = await api('GET', '/instructions/workspaces', { token: narrow });
    expect([refused.status, refused.body.details.requiredScopes]).toEqual([403, ['instructions:read']]);
    const { token } = sandbox.createAccount();
    const paths = [`workspaces/wsp_${accountId}/manuals`, `manuals/${manualId}`, `pages/${pageIds[0]}`];
    for (const path of paths) expect((await api('GET', `/instructions/${path}`, { token })).status).toBe(404);
    const missing = [`manuals/${manualId}/publications/1/manifest`, `pages/${pageIds[0]}?revision=2`];
    for (const path of missing) expect((await api('GET', `/instructions/${path}`)).status).toBe(404);
  });

  it('are written and published by programs on this machine', async () => {
    const world = await openAccount();
    const control = (path: string, body: unknown) => request('POST', `${world.url}/sandbox${path}`, { body });
    const { body: made } = await control(`/accounts/${world.accountId}/manuals`, { pages: [{ title: 'Cars' }] });
    await control(`/pages/${made.pageIds[0]}/edit`, { title: 'Vans' });
    expect((await control(`/manuals/${made.manualId}/publish`, {})).body.publicationNumber).toBe(1);
    expect(await titles(world, made.manualId, 1)).toEqual(['Vans']);
    const lost = await control(`/accounts/${world.accountId}/manuals`, { pages: [{ title: 'Cars', parent: 0 }] });
    expect(lost.status).toBe(400);
  });
});

async function published({ api }: AccountWorld, manualId: string): Promise<{ publicationNumber: number }[]> {
  return (await api('GET', `/instructions/manuals/${manualId}/publications`)).body.publications;
}

async function manifest({ api }: AccountWorld, manualId: string, number: number, query = '') {
  return (await api('GET', `/instructions/manuals/${manualId}/publications/${number}/manifest${query}`)).body;
}

async function titles(world: AccountWorld, manualId: string, number: number, query = ''): Promise<string[]> {
  return (await manifest(world, manualId, number, query)).pages.map(({ title }: { title: string }) => title);
}
