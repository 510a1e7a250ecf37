import type { EmployerCall, EmployerOperation } from './employer-operations.ts';
import { covers } from './employer-state.ts';
import { demand, orNotFound, Refusal } from './refusal.ts';

/** Manuals as they are read (spec: part B, section 4.1, and `employer-api.md`). */

/** A key is used for one body. */
function createWorkspace({ state, account, body, key }: EmployerCall): object {
  demand(typeof body['name'] === 'string', 'a name is required');
  const earlier = state.list('workspace', account.id).find((one) => key !== undefined && one.key === key);
  const isOther = earlier !== undefined && earlier.name !== body['name'];
  if (isOther) throw new Refusal('CONFLICT', 'the key was used with another body');
  const { id, name } = earlier ?? state.keep('workspace', account.id, { name: body['name'], key });
  return { workspace: { id, name } };
}

function listManuals({ state, account, ids: [id] }: EmployerCall): object {
  orNotFound(id === `wsp_${account.id}` || undefined, 'Workspace');
  return { manuals: state.list('manual', account.id).map(showManual), nextCursor: null };
}

function readManual({ state, account, ids: [id] }: EmployerCall): object {
  return { manual: showManual(state.own('manual', account, id)) };
}

function showManual({ id, title }: { id: string; title: string }): object {
  return { id, title, audience: 'WORKER', bindings: [], head: { revisionNumber: 1 } };
}

/** Each manual is published once, with its one page. */
function listPublications({ state, account, ids: [id] }: EmployerCall): object {
  state.own('manual', account, id);
  const publication = { publicationNumber: 1, baseRevisionNumber: 1, audiences: ['WORKER'], note: null };
  return { publications: [publication], nextCursor: null };
}

function readManifest({ state, account, ids: [id, number] }: EmployerCall): object {
  const { pageId } = state.own('manual', account, id);
  orNotFound(number === '1' || undefined, 'Publication');
  const page = { pageId, title: 'Cars', revision: 1, parentId: null, position: 0, audience: 'WORKER', checksum: 'c' };
  return { publicationNumber: 1, revisionNumber: 1, pages: [page] };
}

function readPage({ state, account, ids: [pageId], query }: EmployerCall): object {
  const isKnown = state.list('manual', account.id).some((manual) => manual.pageId === pageId);
  orNotFound((isKnown && (query.get('revision') ?? '1') === '1') || undefined, 'Page');
  const format = query.get('format') ?? 'json';
  demand(['json', 'html', 'markdown'].includes(format), 'the format is unknown');
  const content = { type: 'doc', content: [] };
  const text = format === 'markdown' ? { markdown: '', lossReport: [] } : { html: '' };
  return { page: { pageId, title: 'Cars', revision: 1, checksum: 'c', content, ...(format !== 'json' && text) } };
}

/** What may be called with which scope is shown, but not what is answered: each is asked for what there is not. */
const others: Record<string, string[]> = {
  'instructions:read': [
    'GET /capabilities',
    'GET /workspaces/{id}',
    'GET /workspaces/{id}/permissions',
    'GET /manuals/{id}/tree',
    'GET /changesets',
    'GET /changesets/{id}',
    'GET /manuals/{id}/revisions',
    'GET /manuals/{id}/revisions/diff',
  ],
  'instructions:write': [
    'PATCH /workspaces/{id}',
    'POST /workspaces/{id}/archive',
    'POST /workspaces/{id}/manuals',
    'PATCH /manuals/{id}',
    'POST /manuals/{id}/archive',
    'POST /changesets/apply',
    'POST /changesets/{id}/apply',
    'POST /manuals/{id}/revisions/{id}/restore',
  ],
  'instructions:publish': [
    'POST /workspaces/{id}/permissions',
    'POST /workspaces/{id}/permissions/{id}/revoke',
    'POST /manuals/{id}/publications',
  ],
  'instructions:write instructions:propose': ['POST /changesets/validate', 'POST /changesets/diff'],
  'instructions:propose': ['POST /changesets/submit'],
  'instructions:review': ['POST /changesets/{id}/approve', 'POST /changesets/{id}/reject'],
};

function refuseUnknown({ token: { scopes }, path }: EmployerCall): never {
  // These need two scopes.
  const isShort = path.endsWith('/permissions') && !covers(scopes, 'instructions:publish');
  throw new Refusal(isShort ? 'FORBIDDEN' : 'NOT_FOUND', 'there is none');
}

const manuals = { scopes: ['instructions:read'] };

export const instructionOperations: EmployerOperation[] = [
  {
    at: 'GET /instructions/workspaces',
    ...manuals,
    answer({ state, account }) {
      const made = state.list('workspace', account.id).map(({ id, name }) => ({ id, name }));
      return { workspaces: [{ id: `wsp_${account.id}`, name: 'Second' }, ...made], nextCursor: null };
    },
  },
  { at: 'POST /instructions/workspaces', scopes: ['instructions:write'], status: 201, answer: createWorkspace },
  { at: 'GET /instructions/workspaces/{id}/manuals', ...manuals, answer: listManuals },
  { at: 'GET /instructions/manuals/{id}', ...manuals, answer: readManual },
  { at: 'GET /instructions/manuals/{id}/publications', ...manuals, answer: listPublications },
  { at: 'GET /instructions/manuals/{id}/publications/{id}/manifest', ...manuals, answer: readManifest },
  { at: 'GET /instructions/pages/{id}', ...manuals, answer: readPage },
  ...Object.entries(others).flatMap(([scopes, operations]) =>
    operations.map((at) => ({
      at: at.replace(' ', ' /instructions'),
      scopes: scopes.split(' '),
      answer: refuseUnknown,
    })),
  ),
];
