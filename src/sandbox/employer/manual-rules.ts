import { createHash } from 'node:crypto';
import type { NewBinding } from '../control-request-schema.ts';
import { Refusal, refusalOf } from '../error-response.ts';
import type { Marketplace } from '../marketplace.ts';
import type { Wanted } from '../parse-request.ts';
import type { Binding, Manual, ManualPage, PageRevision, Publication, SandboxAccount } from './account.ts';
import { listNodes } from './content-schema.ts';

/** The pages of a manual, its revisions and its publications. */

type Pages = readonly ManualPage[];

/** The pages of the head. */
export function pagesOf({ revisions }: Manual): Pages {
  return revisions.at(-1)?.pages ?? [];
}

export function addManual(
  marketplace: Marketplace,
  account: SandboxAccount,
  workspaceId: string,
  { title = 'How to label', audience = 'WORKER', bindings = [] }: Partial<Wanted<'NewManual'>>,
  pages: Pages = [],
): Manual {
  const facts = { title, audience, bindings: bindings.map(toBinding) };
  const manual: Manual = { id: marketplace.ids.next('mnl'), workspaceId, ...facts, revisions: [], publications: [] };
  addRevision(marketplace, manual, pages);
  account.manuals.push(manual);
  return manual;
}

export function toBinding({ kind = 'JOB', targetId, precedence = 0 }: NewBinding): Binding {
  return { kind, targetId, precedence };
}

/** The pages become the head. */
export function addRevision(
  { now }: Marketplace,
  { revisions }: Manual,
  pages: Pages,
  description?: string | null,
): void {
  revisions.push({ createdAt: now(), description: description ?? null, pages });
}

export function draftOf({ revisions }: ManualPage): PageRevision {
  return revisions.at(-1) ?? { title: '', content: null };
}

export function checksumOf({ title, content }: PageRevision): string {
  return createHash('sha256')
    .update(JSON.stringify([title, content]))
    .digest('hex');
}

/** From a page to the top. @throws Refusal `PARENT_NOT_FOUND` or `TREE_CYCLE` */
export function pathOf(page: ManualPage, pages: Pages): ManualPage[] {
  const path = [page];
  for (let { parentId } = page; parentId !== null; ) {
    const parent = pages.find(({ id }) => id === parentId);
    if (parent === undefined) throw refusalOf('PARENT_NOT_FOUND');
    if (path.includes(parent)) throw refusalOf('TREE_CYCLE');
    path.push(parent);
    parentId = parent.parentId;
  }
  return path;
}

/** Replaces the page with this id, or adds it. @param position among the pages with the same parent; last by default */
export function insertPage(pages: Pages, page: ManualPage, position = Infinity): Pages {
  const others = pages.filter(({ id }) => id !== page.id);
  const next = others.filter(({ parentId }) => parentId === page.parentId)[position];
  return others.toSpliced(next === undefined ? others.length : others.indexOf(next), 0, page);
}

export function isArchived(page: ManualPage, pages: Pages): boolean {
  return pathOf(page, pages).some((one) => one.isArchived);
}

/** A page with its place and its draft. */
function toPlaced(page: ManualPage, pages: Pages) {
  const { id: pageId, parentId, audience } = page;
  const position = pages.filter((one) => one.parentId === parentId).indexOf(page);
  return { pageId, title: draftOf(page).title, parentId, position, audience, checksum: checksumOf(draftOf(page)) };
}

export function toTree(pages: Pages, parentId: string | null = null): object[] {
  const siblings = pages.filter((page) => page.parentId === parentId);
  return siblings.map((page) => ({
    ...toPlaced(page, pages),
    revisionNumber: page.revisions.length,
    archived: isArchived(page, pages),
    children: toTree(pages, page.id),
  }));
}

/** The pages of a publication for these audiences. */
function toManifest(pages: Pages, audiences: readonly string[]) {
  return pages
    .filter(({ audience }) => audience === null || audiences.includes(audience))
    .filter((page) => !isArchived(page, pages))
    .map((page) => ({ ...toPlaced(page, pages), revision: page.revisions.length }));
}

/** Freezes a revision, the present one for workers by default. @throws Refusal `conflict` if there is no such revision */
export function publish(
  { now }: Marketplace,
  { revisions, publications }: Manual,
  wanted: Wanted<'NewPublication'>,
): Publication {
  const { baseRevisionNumber = revisions.length, audiences = ['WORKER'], note = null } = wanted;
  const { pages } = revisions[baseRevisionNumber - 1] ?? {};
  if (pages === undefined) {
    throw new Refusal('conflict', 'The manual has no such revision', { currentRevisionNumber: revisions.length });
  }
  const frozen = { baseRevisionNumber, audiences, note, createdAt: now(), pages: toManifest(pages, audiences) };
  const publication = { publicationNumber: publications.length + 1, ...frozen };
  publications.push(publication);
  return publication;
}

/** The pages of a revision as new drafts. Pages that came later are archived, because history is never rewritten. */
export function restorePages(head: Pages, wanted: Pages): ManualPage[] {
  return head.map((page) => {
    const old = wanted.find(({ id }) => id === page.id);
    if (old === undefined) return { ...page, isArchived: true };
    const isChanged = page.revisions.length > old.revisions.length;
    return { ...old, revisions: isChanged ? [...page.revisions, draftOf(old)] : page.revisions };
  });
}

const mostSummarized = 200;

/** What differs between two states of a manual, by page. */
export function summarize(before: Pages, after: Pages) {
  const changed = after.filter((page) => !before.includes(page)).slice(0, mostSummarized);
  return changed.map((page) => {
    const old = before.find(({ id }) => id === page.id);
    const [was, is] = [old && toFacts(old), toFacts(page)];
    return {
      pageId: page.id,
      title: is.title,
      revisionNumber: page.revisions.length,
      checksum: checksumOf(draftOf(page)),
      changes: Object.entries(is).flatMap(([name, fact]) => (was && Object(was)[name] === fact ? [] : name)),
      nodesAdded: countNew(is.content, was?.content),
      nodesRemoved: countNew(was?.content, is.content),
    };
  });
}

function toFacts(page: ManualPage) {
  const { parentId, audience, isArchived: archived } = page;
  return { ...draftOf(page), parentId, audience, archived };
}

/** How many nodes of a tree are not in another one. */
function countNew(content: unknown, other: unknown): number {
  const known = new Set(listNodes(other).map(({ node }) => JSON.stringify(node)));
  return listNodes(content).filter(({ node }) => !known.has(JSON.stringify(node))).length;
}
