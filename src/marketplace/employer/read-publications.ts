import { AppError } from '../../domain/errors.ts';
import type { Client } from '../client.ts';
import { type ManifestPage, type Manual, manuals, pages, publications } from '../contract/instructions.ts';
import { listManuals } from '../list-manuals.ts';
import type { Publication, PublishedPage } from '../source-records.ts';

const audience = 'WORKER';

/** What the manuals of these jobs have published for trainers (spec: part B section 4.1). */
export async function readPublications(
  client: Client,
  jobIds: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, Publication>> {
  const read = new Map<string, Publication | null>();
  const found = new Map<string, Publication>();
  for (const [jobId, manualIds] of await manualsOfJobs(client, new Set(jobIds), signal)) {
    for (const manualId of manualIds) {
      if (!read.has(manualId)) read.set(manualId, await readPublication(client, manualId, signal));
      const publication = read.get(manualId) ?? null;
      if (publication === null) continue;
      found.set(jobId, publication);
      break;
    }
  }
  return found;
}

/** The manuals of each job, by precedence. */
async function manualsOfJobs(
  client: Client,
  jobIds: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Map<string, string[]>> {
  const bound: { jobId: string; manualId: string; precedence: number }[] = [];
  for (const manual of await listManuals(client, signal)) {
    for (const { kind, targetId, precedence } of await bindingsOf(client, manual, signal)) {
      if (kind === 'JOB' && jobIds.has(targetId)) bound.push({ jobId: targetId, manualId: manual.id, precedence });
    }
  }
  bound.sort((one, other) => one.precedence - other.precedence || (one.manualId < other.manualId ? -1 : 1));
  const ofJobs = Map.groupBy(bound, ({ jobId }) => jobId);
  return new Map([...ofJobs].map(([jobId, all]) => [jobId, all.map(({ manualId }) => manualId)]));
}

async function bindingsOf({ call }: Client, { id: manualId, bindings }: Manual, signal: AbortSignal) {
  if (bindings !== undefined) return bindings;
  return (await call(manuals.get, { manualId }, signal)).manual.bindings ?? [];
}

/**
 * The newest publication of a manual for trainers; null if there is none. Pages are requested by the revision in the
 * manifest, and an answer of another revision is refused, so that no draft gets out.
 */
async function readPublication(client: Client, manualId: string, signal: AbortSignal): Promise<Publication | null> {
  const all = await client.listWhole(publications.list, { manualId }, signal);
  const ours = all.filter(({ audiences }) => audiences.includes(audience));
  if (ours.length === 0) return null;
  const publicationNumber = Math.max(...ours.map((one) => one.publicationNumber));
  return { manualId, publicationNumber, pages: await readPublishedPages(client, manualId, publicationNumber, signal) };
}

async function readPublishedPages(
  client: Client,
  manualId: string,
  publicationNumber: number,
  signal: AbortSignal,
): Promise<PublishedPage[]> {
  const { manifest: operation } = publications;
  const manifest = await client.call(operation, { manualId, publicationNumber, audience }, signal);
  if (manifest.publicationNumber !== publicationNumber)
    throw refusal(operation.purpose, 'the answer is about another publication');
  const read: PublishedPage[] = [];
  for (const { page, depth } of inOrder(manifest.pages.filter(isForTrainers))) {
    read.push({ title: page.title ?? '', depth, content: await readContent(client, page, signal) });
  }
  return read;
}

/** The specification does not name the field of the page's id. */
async function readContent({ call }: Client, manifestPage: ManifestPage, signal: AbortSignal): Promise<unknown> {
  const { pageId, revision, checksum } = manifestPage;
  const purpose = 'read a page of a publication';
  const { page } = await call({ ...pages.get, purpose }, { pageId, revision, format: 'json' }, signal);
  const isRevision = page.revision === undefined || page.revision === revision;
  const isContent = page.checksum === null || checksum === null || page.checksum === checksum;
  const isProven = page.revision !== undefined || (page.checksum !== null && checksum !== null);
  if ((page.id ?? page.pageId) === pageId && isProven && isRevision && isContent) return page.content;
  throw refusal(purpose, 'the answer is not the published page');
}

function isForTrainers(page: ManifestPage): boolean {
  return page.audience === null || page.audience === audience;
}

/** Each page before the pages below it. If its parent is not for trainers, a page moves to the top. */
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
  throw refusal('read the manifest of a publication', 'its pages form a circle');
}

function refusal(purpose: string, why: string): AppError {
  return new AppError('invalid', `Could not ${purpose}: ${why}`);
}
