import { describe, expect, it } from 'vitest';
import { changesets } from '../../src/marketplace/contract/changesets.ts';
import {
  instructions,
  manuals,
  pages,
  permissions,
  publications,
  workspaces,
} from '../../src/marketplace/contract/instructions.ts';
import type { Operation } from '../../src/marketplace/contract/operation.ts';
import { doc, openManual, text } from './manual-harness.ts';

type World = Awaited<ReturnType<typeof openManual>>;

describe('a workspace', () => {
  it('is created, renamed, listed and archived with all that is in it', async () => {
    const { call, manualId } = await openManual();
    const { status, body } = await call(workspaces.create, { name: 'Second' });
    const workspaceId = body.workspace.id;
    expect([status, body.workspace.name]).toEqual([201, 'Second']);
    expect((await call(workspaces.rename, { workspaceId, name: 'Other' })).body.workspace.name).toBe('Other');
    const { body: list } = await call(workspaces.list);
    expect(list.workspaces.map(({ name }: { name: string }) => name)).toEqual(['Instructions', 'Other']);
    const { body: made } = await call(manuals.create, { workspaceId, title: 'Theirs' });
    expect((await call(manuals.list, { workspaceId })).body.manuals).toEqual([made.manual]);
    expect((await call(workspaces.archive, { workspaceId })).status).toBe(200);
    for (const [operation, input] of [
      [workspaces.get, { workspaceId }],
      [manuals.get, { manualId: made.manual.id }],
    ] as const) {
      expect((await call(operation, input)).status).toBe(404);
    }
    expect((await call(workspaces.list)).body.workspaces).toHaveLength(1);
    expect((await call(manuals.get, { manualId })).status).toBe(200);
  });

  it('gives roles to others, and never takes that of its owner', async () => {
    const { call, workspaceId, sandbox } = await openManual();
    const [{ ownerUserId = '' } = {}] = sandbox.snapshot().accounts;
    const grant = (principalId: string, role: string) => call(permissions.grant, { workspaceId, principalId, role });
    await grant('usr_b', 'EDITOR');
    expect((await grant('usr_b', 'VIEWER')).body.permission).toEqual({ principalId: 'usr_b', role: 'VIEWER' });
    const list = async () => (await call(permissions.list, { workspaceId })).body.permissions;
    const owner = { principalId: ownerUserId, role: 'OWNER' };
    expect(await list()).toEqual([owner, { principalId: 'usr_b', role: 'VIEWER' }]);
    const revoke = (principalId: string) => call(permissions.revoke, { workspaceId, principalId });
    const statuses = [
      await grant(ownerUserId, 'EDITOR'),
      await revoke(ownerUserId),
      await revoke('usr_b'),
      await revoke('usr_b'),
    ];
    expect(statuses.map(({ status }) => status)).toEqual([409, 409, 200, 404]);
    expect((await grant('usr_c', 'OWNER')).status).toBe(400);
    expect(await list()).toEqual([owner]);
  });

  it.each<[Operation, (world: World) => object, allowed: string]>([
    [workspaces.get, () => ({}), 'OWNER EDITOR REVIEWER VIEWER'],
    [pages.get, ({ cars }) => ({ pageId: cars }), 'OWNER EDITOR REVIEWER VIEWER'],
    [changesets.list, () => ({}), 'OWNER EDITOR REVIEWER VIEWER'],
    [manuals.update, () => ({ title: 'New' }), 'OWNER EDITOR'],
    [manuals.restore, () => ({ revisionNumber: 1 }), 'OWNER EDITOR'],
    [changesets.validate, () => ({ operations: [{ kind: 'ARCHIVE_PAGE', pageId: 'pg' }] }), 'OWNER EDITOR'],
    [changesets.submit, () => ({ operations: [{ kind: 'ARCHIVE_PAGE', pageId: 'pg' }] }), 'OWNER EDITOR'],
    [changesets.approve, () => ({}), 'OWNER REVIEWER'],
    [changesets.reject, () => ({}), 'OWNER REVIEWER'],
    [permissions.list, () => ({}), 'OWNER'],
    [permissions.grant, () => ({ principalId: 'usr_b', role: 'VIEWER' }), 'OWNER'],
    [publications.create, () => ({ baseRevisionNumber: 1, audiences: ['WORKER'] }), 'OWNER'],
    [manuals.archive, () => ({}), 'OWNER'],
    [workspaces.archive, () => ({}), 'OWNER'],
  ])('allows $id by the role of the caller', async (operation, toInput, allowed) => {
    for (const role of ['OWNER', 'EDITOR', 'REVIEWER', 'VIEWER', null] as const) {
      const world = await openManual();
      const { call, workspaceId, manualId, sandbox } = world;
      const operations = [{ kind: 'ARCHIVE_PAGE', pageId: 'pg' }];
      const { body } = await call(changesets.submit, { workspaceId, operations });
      sandbox.setWorkspaceRole(workspaceId, { role });
      const input = {
        ...idsOf(operation, { workspaceId, manualId, changesetId: body.changeset.id }),
        ...toInput(world),
      };
      const { status, body: answer } = await call(operation, input);
      const hidden = role === null ? 404 : 403;
      expect([role, refusalOf(status)]).toEqual([role, allowed.split(' ').includes(String(role)) ? null : hidden]);
      if (status === 403) expect(answer.details).toEqual({ requiredRole: operation.role, role });
    }
  });
});

const refusalOf = (status: number) => (status < 300 ? null : status);

/** Of these ids, those that the operation names. */
function idsOf({ address, in: { shape } }: Operation, ids: Record<string, string>) {
  return Object.fromEntries(Object.entries(ids).filter(([name]) => address.includes(`{${name}}`) || name in shape));
}

describe('a manual', () => {
  it('is created with bindings, updated but for its pages, and archived', async () => {
    const { call, workspaceId, jobId } = await openManual();
    const bindings = [{ kind: 'JOB', targetId: jobId }];
    const { status, body } = await call(manuals.create, { workspaceId, title: 'Dogs', audience: 'REVIEWER', bindings });
    const manual = {
      title: 'Dogs',
      audience: 'REVIEWER',
      bindings: [{ ...bindings[0], precedence: 0 }],
      head: { revisionNumber: 1 },
    };
    expect([status, body.manual]).toMatchObject([201, manual]);
    const manualId = body.manual.id;
    const changed = { title: 'Cats', audience: 'ADMIN', bindings: [{ kind: 'FOLDER', targetId: 'f', precedence: 2 }] };
    expect((await call(manuals.update, { manualId, ...changed })).body.manual).toMatchObject(changed);
    expect((await call(manuals.update, { manualId, bindings: [] })).body.manual).toMatchObject({
      title: 'Cats',
      bindings: [],
    });
    expect((await call(manuals.update, { manualId, pages: [] })).status).toBe(400);
    expect((await call(manuals.archive, { manualId })).status).toBe(200);
    expect((await call(manuals.get, { manualId })).status).toBe(404);
  });

  it('shows its pages as a tree', async () => {
    const { call, manualId, cars, vans, signs } = await openManual();
    const { pages: tree, revisionNumber } = (await call(manuals.tree, { manualId })).body;
    expect(revisionNumber).toBe(1);
    expect(tree).toMatchObject([
      {
        pageId: cars,
        parentId: null,
        position: 0,
        revisionNumber: 1,
        children: [{ pageId: vans, parentId: cars, position: 0 }],
      },
      { pageId: signs, position: 1, archived: false, children: [] },
    ]);
  });

  it('keeps every revision, and restores one as a new head', async () => {
    const world = await openManual();
    const { call, workspaceId, manualId, cars, signs } = world;
    const operations = [
      {
        kind: 'REPLACE_CONTENT',
        pageId: cars,
        baseRevisionNumber: 1,
        confirmReplace: true,
        content: doc(text('New.')),
      },
      { kind: 'ARCHIVE_PAGE', pageId: signs },
      { kind: 'CREATE_PAGE', manualId, clientPageKey: 'a', title: 'Later' },
    ];
    const { body: applied } = await call(changesets.apply, { workspaceId, operations, description: 'Second' });
    const later = applied.pages.find((page: { clientPageKey?: string }) => page.clientPageKey === 'a').pageId;
    const { body: diff } = await call(manuals.diff, { manualId, a: 1, b: 2 });
    expect(diff.pages).toMatchObject([
      { pageId: cars, changes: ['content'], nodesAdded: 3, nodesRemoved: 5 },
      { pageId: signs, changes: ['archived'] },
      { pageId: later, title: 'Later', revisionNumber: 1 },
    ]);
    const { status, body } = await call(manuals.restore, { manualId, revisionNumber: 1 });
    expect([status, body.manual.head]).toEqual([200, { revisionNumber: 3 }]);
    const { body: tree } = await call(manuals.tree, { manualId });
    const facts = tree.pages.map((page: Record<string, unknown>) => [
      page['title'],
      page['revisionNumber'],
      page['archived'],
    ]);
    expect(facts).toEqual([
      ['Cars', 3, false],
      ['Signs', 1, false],
      ['Later', 1, true],
    ]);
    const read = async (revision: number) => (await call(pages.get, { pageId: cars, revision })).body.page.content;
    expect(await read(3)).toEqual(await read(1));
    expect(await read(2)).toEqual(doc(text('New.')));
    const { revisions } = (await call(manuals.revisions, { manualId })).body;
    expect(revisions.map((one: { description: string }) => one.description)).toEqual([
      'Revision 1, restored',
      'Second',
      null,
    ]);
    expect((await call(manuals.restore, { manualId, revisionNumber: 9 })).status).toBe(404);
    expect((await call(manuals.diff, { manualId, a: 1, b: 9 })).status).toBe(404);
  });

  it('is published as an exact revision, which later changes do not touch', async () => {
    const world = await openManual();
    const { call, workspaceId, manualId, cars, vans, signs } = world;
    const operations = [
      { kind: 'SET_AUDIENCE', pageId: cars, audience: null },
      { kind: 'SET_AUDIENCE', pageId: vans, audience: 'REVIEWER' },
      { kind: 'MOVE_PAGE', pageId: signs, parentId: null, position: 0 },
    ];
    await call(changesets.apply, { workspaceId, operations });
    const publish = (input: object) =>
      call(publications.create, { manualId, audiences: ['WORKER', 'REVIEWER'], ...input });
    const { status, body } = await publish({ baseRevisionNumber: 2, note: 'Second' });
    expect([status, body.publication]).toMatchObject([
      201,
      { publicationNumber: 1, baseRevisionNumber: 2, note: 'Second' },
    ]);
    await publish({ baseRevisionNumber: 1 });
    const manifest = async (publicationNumber: number, input: object = {}) => {
      const { body: found } = await call(publications.manifest, { manualId, publicationNumber, ...input });
      return found.pages.map((page: Record<string, unknown>) => [page['pageId'], page['position'], page['audience']]);
    };
    const frozen = [
      [signs, 0, 'WORKER'],
      [cars, 1, null],
      [vans, 0, 'REVIEWER'],
    ];
    const atFirst = [
      [cars, 0, 'WORKER'],
      [vans, 0, 'WORKER'],
      [signs, 1, 'WORKER'],
    ];
    const archiving = [
      { kind: 'ARCHIVE_PAGE', pageId: cars },
      { kind: 'RENAME_PAGE', pageId: signs, title: 'Boards' },
    ];
    await call(changesets.apply, { workspaceId, operations: archiving });
    expect((await manifest(1)).sort()).toEqual(frozen.toSorted());
    expect((await manifest(1, { audience: 'REVIEWER' })).sort()).toEqual(frozen.slice(1).sort());
    expect((await manifest(2)).sort()).toEqual(atFirst.sort());
    await publish({ baseRevisionNumber: 3 });
    expect(await manifest(3)).toEqual([[signs, 0, 'WORKER']]);
    const unknown = await publish({ baseRevisionNumber: 9 });
    expect([unknown.status, unknown.body.details]).toEqual([409, { currentRevisionNumber: 3 }]);
  });
});

describe('a page', () => {
  it('is read as JSON, HTML and Markdown, which says what it lacks', async () => {
    const { call, sandbox, accountId } = await openManual();
    const content = doc(
      { type: 'heading', attrs: { level: 2 }, content: [{ type: 'text', text: 'A & B' }] },
      {
        type: 'paragraph',
        content: [
          {
            type: 'text',
            text: 'see',
            marks: [{ type: 'bold' }, { type: 'link', attrs: { href: 'https://a.example' } }],
          },
        ],
      },
      { type: 'table', content: [] },
    );
    const { pageIds } = sandbox.createManual(accountId, { pages: [{ title: 'All', content }] });
    const read = async (format: string) => (await call(pages.get, { pageId: pageIds[0], format })).body.page;
    expect(await read('json')).toMatchObject({ content });
    expect(await read('html')).toMatchObject({
      content,
      html: '<h2 level="2">A &amp; B</h2><p><a href="https://a.example"><strong>see</strong></a></p><table></table>',
    });
    const { markdown, lossReport, content: same } = await read('markdown');
    expect([markdown, lossReport, same]).toEqual([
      '## A & B\n\n**see**\n\n',
      [{ type: 'link' }, { type: 'table' }],
      content,
    ]);
    expect((await call(pages.get, { pageId: pageIds[0], format: 'pdf' })).status).toBe(400);
  });
});

it('says what pages may have', async () => {
  const { call } = await openManual();
  expect((await call(instructions.capabilities)).body).toMatchObject({
    schemaVersion: '1',
    attributes: { heading: ['level'], link: ['href'] },
    patchOperations: ['replace_node', 'insert_before', 'insert_after', 'append_children', 'set_attrs', 'delete_node'],
    audiences: ['ADMIN', 'CONTRIBUTOR', 'REVIEWER', 'WORKER'],
    formats: ['json', 'html', 'markdown'],
    limits: { pageDepth: 6 },
  });
});
