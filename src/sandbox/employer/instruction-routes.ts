import { createHash } from 'node:crypto';
import { Refusal } from '../error-response.ts';
import type { Manual, ManualPage, PageRevision, Publication } from './account.ts';
import { Manifest, Manuals, OneManual, OnePage, Publications, Workspaces } from './employer-answer-schema.ts';
import { ContentQuery, ManifestQuery, PageQuery } from './employer-request-schema.ts';
import { type EmployerCall, type EmployerRoute, parseFields, toPage } from './employer-route.ts';

const scopes = ['instructions:read'];

/**
 * The read side of instructions (spec: part B section 4.1). An account has one workspace. Assumed: the names of the
 * lists, the manifest, and the record of a page. A page is always answered as canonical JSON, whatever format is requested.
 */
export const instructionRoutes: readonly EmployerRoute[] = [
  { operation: 'GET /instructions/workspaces', scopes, query: PageQuery, answer: Workspaces, run: listWorkspaces },
  {
    operation: 'GET /instructions/workspaces/{id}/manuals',
    scopes,
    query: PageQuery,
    answer: Manuals,
    run: listManuals,
  },
  {
    operation: 'GET /instructions/manuals/{id}',
    scopes,
    answer: OneManual,
    run: (call) => ({ manual: toManual(findManual(call)) }),
  },
  {
    operation: 'GET /instructions/manuals/{id}/publications',
    scopes,
    query: PageQuery,
    answer: Publications,
    run: listPublications,
  },
  {
    operation: 'GET /instructions/manuals/{id}/publications/{number}/manifest',
    scopes,
    query: ManifestQuery,
    answer: Manifest,
    run: readManifest,
  },
  { operation: 'GET /instructions/pages/{id}', scopes, query: ContentQuery, answer: OnePage, run: readPage },
];

function listWorkspaces(call: EmployerCall) {
  const { items, nextCursor } = toPage(call, [{ id: workspaceOf(call), name: 'Instructions' }]);
  return { workspaces: items, nextCursor };
}

function listManuals(call: EmployerCall) {
  const workspaceId = workspaceOf(call);
  if (call.id !== workspaceId) refuse('workspaces', { workspaceId: call.id });
  const { items, nextCursor } = toPage(call, call.account.manuals.map(toManual));
  return { manuals: items, nextCursor };
}

/** Newest first. */
function listPublications(call: EmployerCall) {
  const { items, nextCursor } = toPage(call, findManual(call).publications.map(toPublication).reverse());
  return { publications: items, nextCursor };
}

function readManifest(call: EmployerCall) {
  const manual = findManual(call);
  const { audience: asked } = parseFields(ManifestQuery, call.query);
  const found = manual.publications.find(({ publicationNumber }) => String(publicationNumber) === call.number);
  if (found === undefined) return refuse('publications', { manualId: manual.id, publicationNumber: call.number });
  const { publicationNumber, revisionNumber, pages } = found;
  const shown = pages.filter(({ page }) => asked === undefined || page.audience === asked);
  return { publicationNumber, revisionNumber, pages: shown.map(toManifestPage) };
}

function readPage({ account, id, query }: EmployerCall) {
  const page = account.manuals.flatMap(({ pages }) => pages).find((one) => one.id === id);
  if (page === undefined) return refuse('pages', { pageId: id });
  const { revision = page.revisions.length } = parseFields(ContentQuery, query);
  const found = page.revisions[revision - 1];
  if (found === undefined) return refuse('pages', { pageId: id, revision });
  const { title, content } = found;
  return { page: { pageId: id, title, revision, checksum: checksumOf(found), content } };
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

/** Manuals of other accounts do not exist for the caller. */
function refuse(resource: string, details: Record<string, unknown>): never {
  throw new Refusal('not_found', `There is nothing like this among the ${resource}`, { resource, ...details });
}
