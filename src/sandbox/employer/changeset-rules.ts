import { type ChangesetOperation, type Conflict, operationKinds } from '../../marketplace/contract/changesets.ts';
import { audiences } from '../../marketplace/contract/instructions.ts';
import { Refusal, refusalOf } from '../error-response.ts';
import type { Audience, Manual, ManualPage, PageRevision } from './account.ts';
import { limits, patchContent, requireContent } from './content-schema.ts';
import { checksumOf, draftOf, insertPage, isArchived, pagesOf, pathOf } from './manual-rules.ts';

/**
 * What a changeset makes of the manuals of a workspace (spec: part B section 2.1). Pure: a manual is changed by whoever
 * commits the plan. The order of the operations does not matter, so the tree is checked when all are applied.
 */

type Pages = ReadonlyMap<Manual, readonly ManualPage[]>;

export type Plan = ReturnType<typeof planChanges>;

interface Draft {
  operations: readonly ChangesetOperation[];
  assets: ReadonlySet<string>;
  /** As they were, but for the restored pages. */
  before: Pages;
  pages: Map<Manual, readonly ManualPage[]>;
}

/** @param nextId the id of a new page, for the text that refers to it */
export function planChanges(
  manuals: readonly Manual[],
  given: readonly ChangesetOperation[],
  assets: ReadonlySet<string>,
  nextId: (reference: string) => string,
) {
  // The ids of new pages, by the text that refers to them, such as `new:intro`.
  const references = given.filter(({ kind }) => kind === 'CREATE_PAGE').map(toReference);
  const created = new Map(references.map((reference) => [reference, nextId(reference)]));
  const idOf = (page: string | null | undefined) => created.get(page ?? '') ?? page;
  const operations = given.map((one) => {
    const pageId = one.kind === 'CREATE_PAGE' ? created.get(toReference(one)) : one.pageId;
    return { ...one, pageId, parentId: idOf(one.parentId) };
  });
  const before = new Map(manuals.map((manual) => [manual, restoreThose(pagesOf(manual), operations)]));
  const draft: Draft = { operations, assets, before, pages: new Map(before) };
  const conflicts: Conflict[] = [];
  const isRefused = (index: number) => conflicts.some(({ operationIndex }) => operationIndex === index);
  const ranked = [...operations.entries()].sort(([, one], [, other]) => rankOf(one) - rankOf(other));
  for (const act of [requireAlone, applyOperation, requirePlace]) {
    for (const [operationIndex, operation] of ranked.filter(([index]) => !isRefused(index))) {
      const conflict = conflictOf(given[operationIndex]?.pageId, manuals, () => act(draft, operation));
      if (conflict !== undefined) conflicts.push({ operationIndex, ...conflict });
    }
  }
  // At most one for each operation, in their order. Without any, the plan can be committed.
  conflicts.sort((one, other) => Number(one.operationIndex) - Number(other.operationIndex));
  return { conflicts, pages: draft.pages, created };
}

/** Why an operation is refused, if it is, and its page as it is at present. */
function conflictOf(pageId: string | undefined, manuals: readonly Manual[], act: () => void) {
  try {
    act();
    return;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { reason, nodeId } = error.details;
    const page = manuals.flatMap(pagesOf).find(({ id }) => id === pageId);
    return {
      code: String(reason),
      message: error.message,
      pageId: pageId ?? null,
      nodeId: nodeId === undefined ? null : String(nodeId),
      currentRevisionNumber: page?.revisions.length ?? null,
      currentChecksum: page?.revisions.map(checksumOf).at(-1) ?? null,
    };
  }
}

/** Lower positions come first, so that each new or moved page ends where it should. */
function rankOf({ kind, position = 1_000_000 }: ChangesetOperation): number {
  return position * operationKinds.length + operationKinds.indexOf(kind);
}

function toReference({ clientPageKey = '' }: ChangesetOperation): string {
  return `new:${clientPageKey}`;
}

function restoreThose(pages: readonly ManualPage[], operations: readonly ChangesetOperation[]): ManualPage[] {
  const isRestored = (id: string) => operations.some(({ kind, pageId }) => kind === 'RESTORE_PAGE' && pageId === id);
  return pages.map((page) => (isRestored(page.id) ? { ...page, isArchived: false } : page));
}

/** Two operations that contradict each other are both refused, because their order would matter. */
function requireAlone({ operations }: Draft, operation: ChangesetOperation): void {
  if (operations.filter((one) => subjectOf(one) === subjectOf(operation)).length < 2) return;
  throw refusalOf(operation.kind === 'CREATE_PAGE' ? 'DUPLICATE_CLIENT_KEY' : 'REVISION_MISMATCH');
}

function subjectOf({ kind, pageId, assetId = '' }: ChangesetOperation): string {
  return `${kind.replace(/^(PATCH|REPLACE)_/, '')} ${pageId} ${assetId}`;
}

function applyOperation(draft: Draft, operation: ChangesetOperation): void {
  if (operation.kind === 'CREATE_PAGE') createPage(draft, operation);
  else changePage(draft, operation, changes[operation.kind]);
}

function createPage({ pages, assets }: Draft, operation: ChangesetOperation): void {
  const { manualId, pageId: id, clientPageKey, title, content = { type: 'doc' }, audience } = operation;
  const manual = [...pages.keys()].find((one) => one.id === manualId);
  if (manual === undefined) throw refusalOf('MANUAL_NOT_FOUND');
  if (clientPageKey === undefined || title === undefined || id === undefined) throw refusalOf('SCHEMA_INVALID');
  const page = {
    id,
    parentId: operation.parentId ?? null,
    audience: audience === undefined ? manual.audience : toAudience(audience),
    isArchived: false,
    revisions: [{ title, content: requireContent(content, assets) }],
  };
  pages.set(manual, insertPage(pages.get(manual) ?? [], page, operation.position));
}

function changePage({ before, pages, assets }: Draft, operation: ChangesetOperation, change: Change): void {
  const isAbout = ({ id }: ManualPage) => id === operation.pageId;
  const [manual, known = []] = [...before].find(([, all]) => all.some(isAbout)) ?? [];
  const [original, page] = [known.find(isAbout), manual && pages.get(manual)?.find(isAbout)];
  if (manual === undefined || original === undefined || page === undefined) throw refusalOf('PAGE_NOT_FOUND');
  requireBase(original, operation);
  if (isArchived(original, known) && operation.kind !== 'RESTORE_PAGE') throw refusalOf('PAGE_ARCHIVED');
  const { draft, ...place } = change(operation, { assets, content: draftOf(page).content });
  const revisions = draft ? [...original.revisions, { ...draftOf(page), ...draft }] : page.revisions;
  const changed = { ...page, ...place, revisions };
  const all = pages.get(manual) ?? [];
  const isMoved = operation.kind === 'MOVE_PAGE';
  pages.set(manual, isMoved ? insertPage(all, changed, operation.position) : all.with(all.indexOf(page), changed));
}

/** A change of content has to name the revision that it was made for. */
function requireBase({ revisions }: ManualPage, { kind, baseRevisionNumber, baseChecksum }: ChangesetOperation): void {
  const isNeeded = kind === 'PATCH_CONTENT' || kind === 'REPLACE_CONTENT';
  const [current, checksum] = [revisions.length, revisions.map(checksumOf).at(-1)];
  if ((baseRevisionNumber ?? (isNeeded ? 0 : current)) !== current) throw refusalOf('REVISION_MISMATCH');
  if ((baseChecksum ?? checksum) !== checksum) throw refusalOf('CHECKSUM_MISMATCH');
}

/** What an operation changes of a page: its place, and what its next revision has. */
type Change = (
  operation: ChangesetOperation,
  known: { assets: Draft['assets']; content: unknown },
) => Partial<Pick<ManualPage, 'parentId' | 'audience' | 'isArchived'>> & { draft?: Partial<PageRevision> };

const changes: Record<Exclude<ChangesetOperation['kind'], 'CREATE_PAGE'>, Change> = {
  PATCH_CONTENT({ ops }, { content, assets }) {
    if (ops === undefined) throw refusalOf('SCHEMA_INVALID');
    return { draft: { content: patchContent(content, ops, assets) } };
  },
  REPLACE_CONTENT({ content, confirmReplace }, { assets }) {
    if (confirmReplace !== true) throw refusalOf('REPLACE_NOT_CONFIRMED');
    return { draft: { content: requireContent(content, assets) } };
  },
  RENAME_PAGE({ title }) {
    if (title === undefined) throw refusalOf('SCHEMA_INVALID');
    return { draft: { title } };
  },
  MOVE_PAGE: ({ parentId }) => (parentId === undefined ? {} : { parentId }),
  SET_AUDIENCE: ({ audience }) => ({ audience: toAudience(audience) }),
  ARCHIVE_PAGE: () => ({ isArchived: true }),
  RESTORE_PAGE: () => ({}),
  ATTACH_ASSET({ assetId }, { content, assets }) {
    const nodes = [{ type: 'image', attrs: { assetId: assetId ?? null } }];
    return { draft: { content: patchContent(content, [{ op: 'append_children', nodes }], assets) } };
  },
};

function toAudience(audience: string | null | undefined): Audience | null {
  const known = audiences.find((one) => one === audience);
  if (known === undefined && audience !== null) throw refusalOf('AUDIENCE_INVALID');
  return known ?? null;
}

/** In the tree as it is after all operations. */
function requirePlace({ pages }: Draft, { kind, pageId }: ChangesetOperation): void {
  if (kind !== 'CREATE_PAGE' && kind !== 'MOVE_PAGE') return;
  for (const all of pages.values()) {
    const page = all.find(({ id }) => id === pageId);
    if (page === undefined) continue;
    if (isArchived(page, all)) throw refusalOf('PAGE_ARCHIVED');
    const paths = all.map((one) => pathOf(one, all)).filter((path) => path.includes(page));
    if (paths.some(({ length }) => length > limits.pageDepth)) throw refusalOf('DEPTH_EXCEEDED');
  }
}
