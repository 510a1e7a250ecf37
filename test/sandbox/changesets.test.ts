import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ChangesetOperation, changesets } from '../../src/marketplace/contract/changesets.ts';
import { manuals, pages } from '../../src/marketplace/contract/instructions.ts';
import { conflictCodes } from '../../src/marketplace/contract/refusals.ts';
import { doc, openManual, text } from './manual-harness.ts';

type World = Awaited<ReturnType<typeof openManual>>;
type Op = Partial<ChangesetOperation> & Pick<ChangesetOperation, 'kind'>;

async function treeOf({ call, manualId }: World) {
  return (await call(manuals.tree, { manualId })).body;
}

/** The tree in short: each title with its children. */
async function outlineOf(world: World): Promise<unknown> {
  // biome-ignore lint/suspicious/noExplicitAny: the assertions say what it is
  const short = (all: any[]): unknown[] => all.map((one) => [one.title, ...short(one.children)]);
  return short((await treeOf(world)).pages);
}

const apply = ({ call, workspaceId }: World, ...operations: Op[]) =>
  call(changesets.apply, { workspaceId, operations });
const patch = (pageId: string, ...ops: ChangesetOperation['ops'] & object): Op => {
  return { kind: 'PATCH_CONTENT', pageId, baseRevisionNumber: 1, ops };
};
const create = (world: World, clientPageKey: string, more: Partial<Op> = {}): Op => {
  return { kind: 'CREATE_PAGE', manualId: world.manualId, clientPageKey, title: clientPageKey, ...more };
};

/** A chain of new pages, each in the one before. */
const chain = (world: World, length: number) =>
  Array.from({ length }, (_, at) => create(world, `p${at}`, at === 0 ? {} : { parentId: `new:p${at - 1}` }));

/** What is refused with each code; `nodeId` and `pageId` are those of the conflict. */
const refused: [code: string, when: string, make: (world: World) => Op[] | Promise<Op[]>][] = [
  [
    'REVISION_MISMATCH',
    'another revision',
    ({ cars }) => [{ kind: 'RENAME_PAGE', pageId: cars, title: 'A', baseRevisionNumber: 2 }],
  ],
  ['REVISION_MISMATCH', 'content without a revision', ({ cars }) => [{ kind: 'PATCH_CONTENT', pageId: cars, ops: [] }]],
  [
    'REVISION_MISMATCH',
    'two changes of one title',
    ({ cars }) => [
      { kind: 'RENAME_PAGE', pageId: cars, title: 'A' },
      { kind: 'RENAME_PAGE', pageId: cars, title: 'B' },
    ],
  ],
  ['CHECKSUM_MISMATCH', 'another checksum', ({ cars }) => [{ kind: 'ARCHIVE_PAGE', pageId: cars, baseChecksum: 'x' }]],
  ['NODE_NOT_FOUND', 'an unknown node', ({ cars }) => [patch(cars, { op: 'delete_node', nodeId: 'n9' })]],
  ['NODE_NOT_FOUND', 'the removal of the root', ({ cars }) => [patch(cars, { op: 'delete_node', nodeId: null })]],
  ['PAGE_NOT_FOUND', 'an unknown page', () => [{ kind: 'ARCHIVE_PAGE', pageId: 'pg_unknown' }]],
  [
    'PAGE_NOT_FOUND',
    'a page of another workspace',
    async ({ call, sandbox }) => {
      const other = sandbox.createAccount();
      const { pageIds } = sandbox.createManual(other.accountId, { pages: [{ title: 'Theirs' }] });
      expect((await call(pages.get, { pageId: pageIds[0] })).status).toBe(404);
      return [{ kind: 'ARCHIVE_PAGE', pageId: pageIds[0] ?? '' }];
    },
  ],
  ['MANUAL_NOT_FOUND', 'an unknown manual', (world) => [create(world, 'a', { manualId: 'mnl_unknown' })]],
  ['PARENT_NOT_FOUND', 'an unknown parent', (world) => [create(world, 'a', { parentId: 'pg_unknown' })]],
  ['PARENT_NOT_FOUND', 'an unknown key', ({ cars }) => [{ kind: 'MOVE_PAGE', pageId: cars, parentId: 'new:a' }]],
  [
    'PAGE_ARCHIVED',
    'a page below an archived one',
    async (world) => {
      await apply(world, { kind: 'ARCHIVE_PAGE', pageId: world.cars });
      return [{ kind: 'RENAME_PAGE', pageId: world.vans, title: 'A' }];
    },
  ],
  [
    'PAGE_ARCHIVED',
    'a parent that is archived at once',
    (world) => [{ kind: 'ARCHIVE_PAGE', pageId: world.cars }, create(world, 'a', { parentId: world.cars })],
  ],
  ['DEPTH_EXCEEDED', 'seven levels', (world) => chain(world, 7)],
  [
    'DEPTH_EXCEEDED',
    'a page with children, moved',
    (world) => [...chain(world, 5), { kind: 'MOVE_PAGE', pageId: world.cars, parentId: 'new:p4' }],
  ],
  ['TREE_CYCLE', 'a page in its child', ({ cars, vans }) => [{ kind: 'MOVE_PAGE', pageId: cars, parentId: vans }]],
  ['TREE_CYCLE', 'a page in itself', ({ cars }) => [{ kind: 'MOVE_PAGE', pageId: cars, parentId: cars }]],
  ['DUPLICATE_CLIENT_KEY', 'a key twice', (world) => [create(world, 'a'), create(world, 'a')]],
  ['AUDIENCE_INVALID', 'an unknown audience', ({ cars }) => [{ kind: 'SET_AUDIENCE', pageId: cars, audience: 'ALL' }]],
  ['AUDIENCE_INVALID', 'no audience', ({ cars }) => [{ kind: 'SET_AUDIENCE', pageId: cars }]],
  [
    'ASSET_NOT_READY',
    'an unknown asset',
    ({ cars }) => [{ kind: 'ATTACH_ASSET', pageId: cars, assetId: 'ast_unknown' }],
  ],
  ['ASSET_NOT_READY', 'no asset', ({ cars }) => [{ kind: 'ATTACH_ASSET', pageId: cars }]],
  [
    'SCHEMA_INVALID',
    'an unknown node',
    ({ cars }) => [patch(cars, { op: 'append_children', nodes: [{ type: 'video' }] })],
  ],
  [
    'SCHEMA_INVALID',
    'an unknown attribute',
    ({ cars }) => [patch(cars, { op: 'set_attrs', nodeId: 'n1', attrs: { onclick: '' } })],
  ],
  [
    'SCHEMA_INVALID',
    'an id twice',
    ({ cars }) => [patch(cars, { op: 'insert_after', nodeId: 'n1', nodes: [text('', 'n2')] })],
  ],
  [
    'SCHEMA_INVALID',
    'another root',
    ({ cars }) => [
      { kind: 'REPLACE_CONTENT', pageId: cars, baseRevisionNumber: 1, confirmReplace: true, content: text('') },
    ],
  ],
  ['SCHEMA_INVALID', 'a tree too deep', (world) => [create(world, 'a', { content: deep(40) })]],
  ['SCHEMA_INVALID', 'no title', (world) => [{ ...create(world, 'a'), title: undefined }]],
  ['SCHEMA_INVALID', 'no key', (world) => [{ kind: 'CREATE_PAGE', manualId: world.manualId, title: 'A' }]],
  ['SCHEMA_INVALID', 'no new title', ({ cars }) => [{ kind: 'RENAME_PAGE', pageId: cars }]],
  ['SCHEMA_INVALID', 'no patches', ({ cars }) => [{ kind: 'PATCH_CONTENT', pageId: cars, baseRevisionNumber: 1 }]],
  [
    'REPLACE_NOT_CONFIRMED',
    'no confirmation',
    ({ cars }) => [{ kind: 'REPLACE_CONTENT', pageId: cars, baseRevisionNumber: 1, content: doc() }],
  ],
];

function deep(depth: number): Record<string, unknown> {
  let inner: object = text('x');
  for (let at = 0; at < depth; at += 1) inner = { type: 'blockquote', content: [inner] };
  return doc(inner);
}

describe('a changeset', () => {
  it('has a case for each code', () => {
    expect([...new Set(refused.map(([code]) => code))].sort()).toEqual([...conflictCodes].sort());
  });

  it.each(refused)('is refused with %s for %s, and then changes nothing', async (code, _when, make) => {
    const world = await openManual();
    const { call, workspaceId, signs } = world;
    const good: Op = { kind: 'RENAME_PAGE', pageId: signs, title: 'Never' };
    const operations = [good, ...(await make(world))];
    const before = await treeOf(world);
    const { body: checked } = await call(changesets.validate, { workspaceId, operations });
    expect(checked.valid).toBe(false);
    expect(new Set(checked.conflicts.map((one: { code: string }) => one.code))).toEqual(new Set([code]));
    expect(checked.conflicts.every((one: { operationIndex: number }) => one.operationIndex > 0)).toBe(true);
    const { status, body } = await apply(world, ...operations);
    expect([status, body.code, body.details]).toEqual([
      409,
      'CONFLICT',
      { reason: code, conflicts: checked.conflicts },
    ]);
    expect((await call(changesets.diff, { workspaceId, operations })).body.conflicts).toEqual(checked.conflicts);
    expect(await treeOf(world)).toEqual(before);
  });

  it('names the page, the node and what the page is at present', async () => {
    const world = await openManual();
    const [page] = (await treeOf(world)).pages;
    const { body } = await apply(world, patch(world.cars, { op: 'delete_node', nodeId: 'n9' }));
    expect(body.details.conflicts).toEqual([
      {
        operationIndex: 0,
        code: 'NODE_NOT_FOUND',
        message: 'The page has no such node',
        pageId: world.cars,
        nodeId: 'n9',
        currentRevisionNumber: 1,
        currentChecksum: page.checksum,
      },
    ]);
  });

  it('changes everything at once, as one revision of the manual and of each page', async () => {
    const world = await openManual();
    const { call, workspaceId, sandbox, accountId, manualId, cars, vans, signs } = world;
    const { assetId } = sandbox.addAsset(accountId);
    const operations: Op[] = [
      create(world, 'child', { parentId: 'new:top', audience: null }),
      patch(cars, { op: 'delete_node', nodeId: 'n2' }),
      { kind: 'RENAME_PAGE', pageId: cars, title: 'Vehicles', baseRevisionNumber: 1 },
      { kind: 'ATTACH_ASSET', pageId: cars, assetId },
      { kind: 'SET_AUDIENCE', pageId: cars, audience: 'REVIEWER' },
      { kind: 'MOVE_PAGE', pageId: vans, parentId: 'new:child' },
      { kind: 'ARCHIVE_PAGE', pageId: signs },
      create(world, 'top', { position: 0 }),
    ];
    const { body: planned } = await call(changesets.diff, { workspaceId, operations });
    expect(await outlineOf(world)).toEqual([['Cars', ['Vans']], ['Signs']]);
    const { status, body } = await apply(world, ...operations);
    expect([status, body.conflicts]).toEqual([200, []]);
    expect(body.pages.map(unnamed)).toEqual(planned.pages.map(unnamed));
    const changed = Object.fromEntries(body.pages.map((page: Record<string, unknown>) => [page['title'], page]));
    expect(changed).toMatchObject({
      Vehicles: {
        pageId: cars,
        revisionNumber: 2,
        changes: ['title', 'content', 'audience'],
        nodesAdded: 2,
        nodesRemoved: 3,
      },
      Vans: { revisionNumber: 1, changes: ['parentId'], nodesAdded: 0, nodesRemoved: 0 },
      Signs: { changes: ['archived'] },
      top: { clientPageKey: 'top', revisionNumber: 1 },
    });
    expect(await outlineOf(world)).toEqual([['top', ['child', ['Vans']]], ['Vehicles'], ['Signs']]);
    const tree = await treeOf(world);
    expect(tree).toMatchObject({
      revisionNumber: 2,
      pages: [{ audience: 'WORKER', children: [{ audience: null }] }, {}, { archived: true }],
    });
    const { page } = (await call(pages.get, { pageId: cars })).body;
    expect(page).toMatchObject({
      revision: 2,
      content: doc(text('Draw a box.', 'n1'), { type: 'image', attrs: { assetId } }),
    });

    expect(
      (
        await apply(
          world,
          { kind: 'RESTORE_PAGE', pageId: signs },
          { kind: 'RENAME_PAGE', pageId: signs, title: 'Boards' },
        )
      ).status,
    ).toBe(200);
    expect((await treeOf(world)).pages[2]).toMatchObject({ title: 'Boards', archived: false });
    const all = (await call(manuals.revisions, { manualId })).body.revisions;
    expect(all.map((one: { revisionNumber: number }) => one.revisionNumber)).toEqual([3, 2, 1]);
  });

  it('is applied once for an Idempotency-Key, which goes with no other changeset', async () => {
    const world = await openManual();
    const { url, token, workspaceId } = world;
    const send = async (clientPageKey: string) => {
      const headers = { authorization: `Bearer ${token}`, 'idempotency-key': 'k1' };
      const body = JSON.stringify({ workspaceId, operations: [create(world, clientPageKey)] });
      const answer = await fetch(`${url}/api/public/v1/instructions/changesets/apply`, {
        method: 'POST',
        headers,
        body,
      });
      return [answer.status, Object(await answer.json()).pages];
    };
    const first = await send('a');
    expect(first).toMatchObject([200, [{ clientPageKey: 'a' }]]);
    expect(await send('a')).toEqual(first);
    expect((await send('b'))[0]).toBe(409);
    expect((await treeOf(world)).revisionNumber).toBe(2);
  });

  it.each<[op: string, ops: ChangesetOperation['ops'] & object, content: object[]]>([
    [
      'replace_node',
      [{ op: 'replace_node', nodeId: 'n1', nodes: [text('a'), text('b')] }],
      [text('a'), text('b'), text('Be exact.', 'n2')],
    ],
    [
      'insert_before',
      [{ op: 'insert_before', nodeId: 'n2', nodes: [text('a')] }],
      [text('Draw a box.', 'n1'), text('a'), text('Be exact.', 'n2')],
    ],
    [
      'insert_after',
      [{ op: 'insert_after', nodeId: 'n2', nodes: [text('a')] }],
      [text('Draw a box.', 'n1'), text('Be exact.', 'n2'), text('a')],
    ],
    [
      'append_children',
      [
        { op: 'append_children', nodeId: null, nodes: [{ type: 'bulletList', attrs: { id: 'n3' } }] },
        { op: 'append_children', nodeId: 'n3', nodes: [{ type: 'listItem' }] },
      ],
      [
        text('Draw a box.', 'n1'),
        text('Be exact.', 'n2'),
        { type: 'bulletList', attrs: { id: 'n3' }, content: [{ type: 'listItem' }] },
      ],
    ],
    [
      'set_attrs',
      [{ op: 'set_attrs', nodeId: 'n1', attrs: { id: 'n5' } }],
      [text('Draw a box.', 'n5'), text('Be exact.', 'n2')],
    ],
    [
      'delete_node',
      [
        { op: 'delete_node', nodeId: 'n1' },
        { op: 'delete_node', nodeId: 'n2' },
      ],
      [],
    ],
  ])('patches by %s', async (_op, ops, content) => {
    const world = await openManual();
    expect((await apply(world, patch(world.cars, ...ops))).status).toBe(200);
    expect((await world.call(pages.get, { pageId: world.cars })).body.page.content).toEqual(doc(...content));
  });

  it('swaps a parent and its child in any order', async () => {
    const up: (world: World) => Op = ({ vans }) => ({ kind: 'MOVE_PAGE', pageId: vans, parentId: null });
    const down: (world: World) => Op = ({ cars, vans }) => ({ kind: 'MOVE_PAGE', pageId: cars, parentId: vans });
    for (const order of [
      [up, down],
      [down, up],
    ]) {
      const world = await openManual();
      expect((await apply(world, ...order.map((make) => make(world)))).status).toBe(200);
      expect(await outlineOf(world)).toEqual([['Signs'], ['Vans', ['Cars']]]);
    }
  });

  it('is valid if and only if it can be applied, in any order', async () => {
    const world = await openManual();
    const any = anyOperation(world);
    await fc.assert(
      fc.asyncProperty(
        fc.array(any, { minLength: 1, maxLength: 6 }),
        fc.infiniteStream(fc.nat()),
        async (operations, dice) => {
          const input = { workspaceId: world.workspaceId, operations };
          const shuffled = operations
            .map((one) => ({ one, at: dice.next().value }))
            .sort((a, b) => a.at - b.at)
            .map(({ one }) => one);
          const before = await treeOf(world);
          const { valid } = (await world.call(changesets.validate, input)).body;
          const { valid: again } = (await world.call(changesets.validate, { ...input, operations: shuffled })).body;
          expect(again).toBe(valid);
          const { status } = await world.call(changesets.apply, input);
          expect(status).toBe(valid ? 200 : 409);
          if (!valid) expect(await treeOf(world)).toEqual(before);
        },
      ),
      { numRuns: 40 },
    );
  });
});

/** Without what a page had before, so that it may still be applied after others. */
function anyOperation({ manualId, cars, vans, signs }: World): fc.Arbitrary<Op> {
  const page = fc.constantFrom(cars, vans, signs, 'pg_unknown');
  const parentId = fc.constantFrom(null, cars, vans, signs, 'new:a', 'new:b');
  const position = fc.option(fc.nat(3), { nil: undefined });
  const kind = fc.constantFrom('ARCHIVE_PAGE' as const, 'RESTORE_PAGE' as const);
  const audience = fc.constantFrom(null, 'WORKER', 'ALL');
  return fc.oneof(
    fc.record({
      kind: fc.constant('CREATE_PAGE' as const),
      manualId: fc.constant(manualId),
      clientPageKey: fc.constantFrom('a', 'b'),
      title: fc.constant('New'),
      parentId,
      position,
    }),
    fc.record({ kind: fc.constant('MOVE_PAGE' as const), pageId: page, parentId, position }),
    fc.record({ kind, pageId: page }),
    fc.record({ kind: fc.constant('SET_AUDIENCE' as const), pageId: page, audience }),
    fc.record({ kind: fc.constant('RENAME_PAGE' as const), pageId: page, title: fc.constantFrom('A', 'B') }),
  );
}

/** New pages have ids only once they exist. */
function unnamed({ pageId, clientPageKey, ...page }: Record<string, unknown>) {
  return clientPageKey === undefined ? { pageId, ...page } : { clientPageKey, ...page };
}

describe('a submitted changeset', () => {
  const steps = {
    approve: changesets.approve,
    reject: changesets.reject,
    apply: changesets.applyStored,
  };
  const rename = ({ cars }: World): Op => ({
    kind: 'RENAME_PAGE',
    pageId: cars,
    title: 'Vehicles',
    baseRevisionNumber: 1,
  });

  async function submit(world: World) {
    const { workspaceId } = world;
    const input = { workspaceId, description: 'Clearer', operations: [rename(world)] };
    const { status, body } = await world.call(changesets.submit, input);
    expect([status, body.changeset.status]).toEqual([201, 'SUBMITTED']);
    return body.changeset.id as string;
  }

  it.each<[(keyof typeof steps)[], string]>([
    [['approve'], 'APPROVED'],
    [['reject'], 'REJECTED'],
    [['approve', 'reject'], 'REJECTED'],
    [['approve', 'apply'], 'APPLIED'],
    [['apply'], 'SUBMITTED'],
    [['approve', 'approve'], 'APPROVED'],
    [['reject', 'approve'], 'REJECTED'],
    [['reject', 'reject'], 'REJECTED'],
    [['reject', 'apply'], 'REJECTED'],
    [['approve', 'apply', 'apply'], 'APPLIED'],
    [['approve', 'apply', 'reject'], 'APPLIED'],
    [['approve', 'apply', 'approve'], 'APPLIED'],
  ])('after %j is %s', async (acts, expected) => {
    const world = await openManual();
    const changesetId = await submit(world);
    const allowed = ['approve', 'reject', 'approve,reject', 'approve,apply'];
    for (const [at, act] of acts.entries()) {
      const { status, body } = await world.call(steps[act], { changesetId });
      const done = allowed.includes(acts.slice(0, at + 1).join()) ? [200, undefined] : [409, 'CONFLICT'];
      expect([act, status, body.code]).toEqual([act, ...done]);
    }
    const { changeset } = (await world.call(changesets.get, { changesetId })).body;
    expect(changeset).toMatchObject({ status: expected, description: 'Clearer', operations: [rename(world)] });
    expect((await treeOf(world)).pages[0].title).toBe(expected === 'APPLIED' ? 'Vehicles' : 'Cars');
  });

  it('conflicts if its page has changed since, and stays so', async () => {
    const world = await openManual();
    const changesetId = await submit(world);
    const { body } = await world.call(changesets.approve, { changesetId, decisionNote: 'Good' });
    expect(body.changeset.decisionNote).toBe('Good');
    world.sandbox.editPage(world.cars, { title: 'Trucks' });
    const before = await treeOf(world);
    const refusal = await world.call(changesets.applyStored, { changesetId });
    expect([refusal.status, refusal.body.details.reason]).toEqual([409, 'REVISION_MISMATCH']);
    const { changeset } = (await world.call(changesets.get, { changesetId })).body;
    expect(changeset).toMatchObject({ status: 'CONFLICTED', conflicts: refusal.body.details.conflicts });
    expect(await treeOf(world)).toEqual(before);
    for (const act of Object.values(steps)) expect((await world.call(act, { changesetId })).status).toBe(409);
  });

  it('is listed by status, the newest first, for its workspace alone', async () => {
    const world = await openManual();
    const { call, workspaceId, sandbox } = world;
    const ids = [await submit(world), await submit(world)];
    await call(changesets.reject, { changesetId: ids[0] });
    const list = async (input: object) => {
      const { body } = await call(changesets.list, { workspaceId, ...input });
      return body.changesets.map(({ id }: { id: string }) => id);
    };
    expect(await list({})).toEqual([ids[1], ids[0]]);
    expect(await list({ status: 'REJECTED' })).toEqual([ids[0]]);
    expect(await list({ limit: 1 })).toEqual([ids[1]]);
    const { token } = sandbox.createAccount();
    expect((await call(changesets.get, { changesetId: ids[0] }, token)).status).toBe(404);
    expect((await call(changesets.list, { workspaceId }, token)).status).toBe(404);
  });
});
