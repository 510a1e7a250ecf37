import { createHash } from 'node:crypto';
import { Refusal } from '../error-response.ts';
import { type Answered, type EmployerCall, type EmployerRoute, parseFields } from './employer-route.ts';
import { InstructionsQuery, ManifestQuery, PageQuery } from './instruction-request-schema.ts';
import type { Manual, ManualPage, PageRevision, Publication } from './manual.ts';

const needs = { method: 'get', scopes: ['instructions:read'] } as const;

/**
 * The read side of instructions (spec: part B section 4.1). An account has one workspace. Assumed: the names of the
 * lists, the manifest, and the record of a page; a page answers its canonical JSON alone, whatever format is asked for.
 */
export const instructionRoutes: readonly EmployerRoute[] = [
  { ...needs, path: '/instructions/workspaces', answer: listWorkspaces },
  { ...needs, path: '/instructions/workspaces/{id}/manuals', answer: listManuals },
  {
    ...needs,
    path: '/instructions/manuals/{id}',
    answer: (call) => ({ body: { manual: toManual(findManual(call)) } }),
  },
  { ...needs, path: '/instructions/manuals/{id}/publications', answer: listPublications },
  { ...needs, path: '/instructions/manuals/{id}/publications/{number}/manifest', answer: readManifest },
  { ...needs, path: '/instructions/pages/{id}', answer: readPage },
];

function listWorkspaces(call: EmployerCall): Answered {
  const { items, nextCursor } = toPage(call, [{ id: workspaceOf(call), name: 'Instructions' }]);
  return { body: { workspaces: items, nextCursor } };
}

function listManuals(call: EmployerCall): Answered {
  const workspaceId = workspaceOf(call);
  if (call.id !== workspaceId) refuse('workspaces', { workspaceId: call.id });
  const { items, nextCursor } = toPage(call, call.account.manuals.map(toManual));
  return { body: { manuals: items, nextCursor } };
}

/** Newest first. */
function listPublications(call: EmployerCall): Answered {
  const { items, nextCursor } = toPage(call, findManual(call).publications.map(toPublication).reverse());
  return { body: { publications: items, nextCursor } };
}

function readManifest(call: EmployerCall): Answered {
  const manual = findManual(call);
  const { audience: asked } = parseFields(ManifestQuery, call.query);
  const found = manual.publications.find(({ publicationNumber }) => String(publicationNumber) === call.number);
  if (found === undefined) return refuse('publications', { manualId: manual.id, publicationNumber: call.number });
  const { publicationNumber, revisionNumber, pages } = found;
  const shown = pages.filter(({ page }) => asked === undefined || page.audience === asked);
  return { body: { publicationNumber, revisionNumber, pages: shown.map(toManifestPage) } };
}

function readPage({ account, id, query }: EmployerCall): Answered {
  const page = account.manuals.flatMap(({ pages }) => pages).find((one) => one.id === id);
  if (page === undefined) return refuse('pages', { pageId: id });
  const { revision = page.revisions.length } = parseFields(PageQuery, query);
  const found = page.revisions[revision - 1];
  if (found === undefined) return refuse('pages', { pageId: id, revision });
  const { title, content } = found;
  return { body: { page: { pageId: id, title, revision, checksum: checksumOf(found), content } } };
}

function workspaceOf({ account }: EmployerCall): string {
  return `wsp_${account.id}`;
}

function findManual({ account, id }: EmployerCall): Manual {
  return account.manuals.find((one) => one.id === id) ?? refuse('manuals', { manualId: id });
}

function toManual({ id, title, audience, bindings, headRevision }: Manual) {
  return { id, title, audience, bindings, head: { revisionNumber: headRevision } };
}

function toPublication({ publicationNumber, revisionNumber, audiences, note, createdAt }: Publication) {
  return { publicationNumber, baseRevisionNumber: revisionNumber, audiences, note, createdAt };
}

function toManifestPage({ page, revision }: { page: ManualPage; revision: number }) {
  const { id: pageId, parentId, position, audience } = page;
  const frozen = page.revisions[revision - 1];
  if (frozen === undefined) return refuse('pages', { pageId, revision });
  return { pageId, title: frozen.title, revision, parentId, position, audience, checksum: checksumOf(frozen) };
}

function checksumOf({ title, content }: PageRevision): string {
  return createHash('sha256')
    .update(JSON.stringify([title, content]))
    .digest('hex');
}

function toPage<T>({ query }: EmployerCall, all: readonly T[]): { items: T[]; nextCursor: string | null } {
  const { cursor: first, limit } = parseFields(InstructionsQuery, query);
  const next = first + limit;
  return { items: all.slice(first, next), nextCursor: next < all.length ? String(next) : null };
}

/** What is another account's does not exist either. */
function refuse(resource: string, details: Record<string, unknown>): never {
  throw new Refusal('not_found', `There is nothing like this among the ${resource}`, { resource, ...details });
}
