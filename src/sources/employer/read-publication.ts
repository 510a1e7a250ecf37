import { AppError } from '../../domain/errors.ts';
import type { Call } from '../http/caller.ts';
import { toSegment } from '../http/id-segment.ts';
import { listWhole } from '../http/list-whole.ts';
import type { Publication, PublishedPage } from '../publication.ts';
import {
  Manifest,
  type ManifestPage,
  PageAnswer,
  PublicationList,
  type PublicationRecord,
} from './instruction-schema.ts';

const audience = 'WORKER';

/**
 * Reads what a manual has published for trainers; null if there is nothing. Pages are asked for by the revision that the
 * manifest of a publication names, and an answer that is not that revision is refused: a draft never gets out.
 */
export function createReadPublication(call: Call) {
  async function readPublication(manualId: string, signal: AbortSignal): Promise<Publication | null> {
    const purpose = 'list the publications of a manual';
    const publications = await listWhole<PublicationRecord>({
      path: `${toManualPath(manualId)}/publications`,
      purpose,
      keyOf: ({ publicationNumber }) => String(publicationNumber),
      async readPage(path) {
        const { publications: records, ...paging } = await call({ path, purpose, answer: PublicationList }, signal);
        return { records, ...paging };
      },
    });
    const ours = publications.filter(({ audiences }) => audiences.includes(audience));
    if (ours.length === 0) return null;
    const publicationNumber = Math.max(...ours.map((one) => one.publicationNumber));
    return { manualId, publicationNumber, pages: await readPages(manualId, publicationNumber, signal) };
  }

  async function readPages(manualId: string, publicationNumber: number, signal: AbortSignal) {
    const path = `${toManualPath(manualId)}/publications/${publicationNumber}/manifest?audience=${audience}`;
    const purpose = 'read what a publication is made of';
    const manifest = await call({ path, purpose, answer: Manifest }, signal);
    if (manifest.publicationNumber !== publicationNumber) throw refusal(purpose, 'it is of another publication');
    const pages: PublishedPage[] = [];
    for (const { page, depth } of inOrder(manifest.pages.filter(isForTrainers))) {
      pages.push({ title: page.title ?? '', depth, content: await readContent(page, signal) });
    }
    return pages;
  }

  async function readContent({ pageId, revision, checksum }: ManifestPage, signal: AbortSignal): Promise<unknown> {
    const query = new URLSearchParams({ revision: String(revision), format: 'json' });
    const purpose = 'read a page of a publication';
    const operation = { path: `/instructions/pages/${toSegment(pageId)}?${query}`, purpose, answer: PageAnswer };
    const { page } = await call(operation, signal);
    const isRevision = page.revision === undefined || page.revision === revision;
    const isContent = page.checksum === null || checksum === null || page.checksum === checksum;
    const isProven = page.revision !== undefined || (page.checksum !== null && checksum !== null);
    if (page.id === pageId && isProven && isRevision && isContent) return page.content;
    throw refusal(purpose, 'the answer is not the page that was published');
  }

  return readPublication;
}

export function toManualPath(manualId: string): string {
  return `/instructions/manuals/${toSegment(manualId)}`;
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
