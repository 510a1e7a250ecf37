import { AppError } from '../../domain/errors.ts';
import { type Call, pathOf } from '../http/caller.ts';
import { listWhole } from '../http/read-pages.ts';
import type { Publication, PublishedPage } from '../record-schema.ts';
import {
  Manifest,
  type ManifestPage,
  type Manual,
  ManualAnswer,
  ManualPage,
  PageAnswer,
  PublicationPage,
  WorkspacePage,
} from './employer-schema.ts';

const audience = 'WORKER';

/** The manuals of jobs, and what they have published for trainers (spec: part B section 4.1). */
export async function readPublications(
  call: Call,
  jobIds: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, Publication>> {
  const read = new Map<string, Publication | null>();
  const found = new Map<string, Publication>();
  for (const [jobId, manualIds] of await manualsOfJobs(call, new Set(jobIds), signal)) {
    for (const manualId of manualIds) {
      if (!read.has(manualId)) read.set(manualId, await readPublication(call, manualId, signal));
      const publication = read.get(manualId) ?? null;
      if (publication === null) continue;
      found.set(jobId, publication);
      break;
    }
  }
  return found;
}

/** The manuals of each job, the one that wins first. */
async function manualsOfJobs(
  call: Call,
  jobIds: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Map<string, string[]>> {
  const bound: { jobId: string; manualId: string; precedence: number }[] = [];
  for (const manual of await listManuals(call, signal)) {
    for (const { kind, targetId, precedence } of await bindingsOf(call, manual, signal)) {
      if (kind === 'JOB' && jobIds.has(targetId)) bound.push({ jobId: targetId, manualId: manual.id, precedence });
    }
  }
  bound.sort((one, other) => one.precedence - other.precedence || (one.manualId < other.manualId ? -1 : 1));
  const ofJobs = Map.groupBy(bound, ({ jobId }) => jobId);
  return new Map([...ofJobs].map(([jobId, all]) => [jobId, all.map(({ manualId }) => manualId)]));
}

async function bindingsOf(call: Call, { id, bindings }: Manual, signal: AbortSignal) {
  if (bindings !== undefined) return bindings;
  const manual = await call({ path: toManualPath(id), purpose: 'read a manual', answer: ManualAnswer, signal });
  return manual.bindings ?? [];
}

async function listManuals(call: Call, signal: AbortSignal): Promise<Manual[]> {
  const path = '/instructions/workspaces';
  const operation = { path, purpose: 'list the workspaces with manuals', answer: WorkspacePage, signal };
  const manuals: Manual[] = [];
  for (const { id } of await listWhole(call, operation, (workspace) => workspace.id)) {
    const ofWorkspace = { path: pathOf`/instructions/workspaces/${id}/manuals`, answer: ManualPage, signal };
    const purpose = 'list the manuals of a workspace';
    manuals.push(...(await listWhole(call, { ...ofWorkspace, purpose }, (manual) => manual.id)));
  }
  return manuals;
}

/**
 * What a manual has published for trainers; null if there is nothing. Pages are asked for by the revision that the
 * manifest of a publication names, and an answer that is not that revision is refused: a draft never gets out.
 */
async function readPublication(call: Call, manualId: string, signal: AbortSignal): Promise<Publication | null> {
  const path = `${toManualPath(manualId)}/publications`;
  const operation = { path, purpose: 'list the publications of a manual', answer: PublicationPage, signal };
  const publications = await listWhole(call, operation, ({ publicationNumber }) => String(publicationNumber));
  const ours = publications.filter(({ audiences }) => audiences.includes(audience));
  if (ours.length === 0) return null;
  const publicationNumber = Math.max(...ours.map((one) => one.publicationNumber));
  return { manualId, publicationNumber, pages: await readPages(call, manualId, publicationNumber, signal) };
}

async function readPages(
  call: Call,
  manualId: string,
  publicationNumber: number,
  signal: AbortSignal,
): Promise<PublishedPage[]> {
  const path = `${toManualPath(manualId)}/publications/${publicationNumber}/manifest`;
  const purpose = 'read what a publication is made of';
  const manifest = await call({ path, query: { audience }, purpose, answer: Manifest, signal });
  if (manifest.publicationNumber !== publicationNumber) throw refusal(purpose, 'it is of another publication');
  const pages: PublishedPage[] = [];
  for (const { page, depth } of inOrder(manifest.pages.filter(isForTrainers))) {
    pages.push({ title: page.title ?? '', depth, content: await readContent(call, page, signal) });
  }
  return pages;
}

async function readContent(call: Call, manifestPage: ManifestPage, signal: AbortSignal): Promise<unknown> {
  const { pageId, revision, checksum } = manifestPage;
  const query = { revision: String(revision), format: 'json' };
  const purpose = 'read a page of a publication';
  const page = await call({ path: pathOf`/instructions/pages/${pageId}`, query, purpose, answer: PageAnswer, signal });
  const isRevision = page.revision === undefined || page.revision === revision;
  const isContent = page.checksum === null || checksum === null || page.checksum === checksum;
  const isProven = page.revision !== undefined || (page.checksum !== null && checksum !== null);
  if (page.id === pageId && isProven && isRevision && isContent) return page.content;
  throw refusal(purpose, 'the answer is not the page that was published');
}

function toManualPath(manualId: string): string {
  return pathOf`/instructions/manuals/${manualId}`;
}

function isForTrainers(page: ManifestPage): boolean {
  return page.audience === null || page.audience === audience;
}

/** Each page before the pages below it. A page whose parent is not for trainers is at the top. */
function inOrder(pages: readonly ManifestPage[]): { page: ManifestPage; depth: number }[] {
  const ids = new Set(pages.map(({ pageId }) => pageId));
  const children = Map.groupBy(
    [...pages].sort((one, other) => one.position - other.position),
    ({ parentId }) => (typeof parentId === 'string' && ids.has(parentId) ? parentId : null),
  );
  const ordered: { page: ManifestPage; depth: number }[] = [];
  function visit(parentId: string | null, depth: number): void {
    for (const page of children.get(parentId) ?? []) {
      ordered.push({ page, depth });
      visit(page.pageId, depth + 1);
    }
  }
  visit(null, 1);
  if (ordered.length === pages.length) return ordered;
  throw refusal('read what a publication is made of', 'its pages are below each other');
}

function refusal(purpose: string, why: string): AppError {
  return new AppError('invalid', `Could not ${purpose}: ${why}`);
}
