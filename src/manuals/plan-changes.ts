import { hash } from 'node:crypto';
import { AppError } from '../domain/errors.ts';
import type { ChangesetOperation } from '../marketplace/contract/changesets.ts';
import type { LocalPage, ManualFolder } from './manual-folder.ts';
import type { KnownPage } from './manual-schema.ts';
import { editPage, type Spell } from './page-text.ts';

/** What a push would do to a page. */
export interface Change {
  /** The path of the page; its title if its file is gone. */
  page: string;
  says: string;
  operation: ChangesetOperation;
}

export interface PlanOptions {
  /** Whether a whole page may be replaced, if its changed parts have no ids. */
  replaces: boolean;
  /** Writes the types of nodes as the marketplace does. */
  spell: Spell;
}

/**
 * The changes that make a manual what its files say. They follow from the files alone: the same files are the same request.
 *
 * @throws AppError `invalid` with the name of the file
 */
export function planChanges(manual: ManualFolder, options: PlanOptions): Change[] {
  const { pages, local, folder } = manual;
  const fresh = local.filter(({ front }) => front.id === undefined);
  const twin = fresh.find((page) => fresh.some((one) => one !== page && isAlike(one, page)));
  if (twin !== undefined) throw fault(twin, 'Another new page beside it has the same title. Rename one');
  const ids = new Set(local.map(({ front }) => front.id));
  const gone = pages.filter(({ pageId, isArchived }) => !isArchived && !ids.has(pageId));
  const archived = gone.map((page) => toChange(page.title, 'archive', { kind: 'ARCHIVE_PAGE', ...baseOf(page) }));
  const all = [...local.flatMap((page) => changesTo(manual, page, options)), ...archived];
  if (all.length <= mostChanges) return all;
  throw new AppError(
    'invalid',
    `${folder}: ${all.length} changes are more than ${mostChanges}. Push some of them first`,
  );
}

/** The marketplace takes so many at once. */
const mostChanges = 500;

function isAlike(one: LocalPage, other: LocalPage): boolean {
  return one.front.title === other.front.title && one.above === other.above;
}

function changesTo(manual: ManualFolder, page: LocalPage, options: PlanOptions): Change[] {
  const { id } = page.front;
  const parent = manual.local.find((one) => one.path === page.above);
  if (parent === undefined && page.above !== manual.folder)
    throw fault(page, `There is no page ${page.above}.md. Make it, or move this page`);
  const parentId = parent === undefined ? null : (parent.front.id ?? `new:${hash('sha256', parent.path)}`);
  if (id === undefined) return [createOf(manual, page, parentId, options.spell)];
  const before = manual.pages.find(({ pageId }) => pageId === id);
  if (before !== undefined) return changesOf(page, before, parentId, options);
  throw fault(page, `The manual has no page ${id}. Pull, or remove the id for a new page`);
}

function toChange(page: string, says: string, operation: ChangesetOperation): Change {
  return { page, says, operation };
}

function createOf(manual: ManualFolder, page: LocalPage, parentId: string | null, spell: Spell): Change {
  const { title, audience, position } = page.front;
  const { content } = edited(page, page.path, spell) ?? {};
  const facts = {
    manualId: manual.id,
    clientPageKey: hash('sha256', page.path),
    title,
    audience,
    parentId,
    position,
    content,
  };
  return toChange(page.path, 'create', { kind: 'CREATE_PAGE', ...facts });
}

function changesOf(page: LocalPage, before: KnownPage, parentId: string | null, options: PlanOptions): Change[] {
  const { title, audience = before.audience, position = before.position } = page.front;
  const base = baseOf(before);
  const isMoved = parentId !== before.parentId || position !== before.position;
  const changes: [isChanged: boolean, says: string, operation: ChangesetOperation][] = [
    [before.isArchived, 'restore', { kind: 'RESTORE_PAGE', ...base }],
    [title !== before.title, `rename, from “${before.title}”`, { kind: 'RENAME_PAGE', ...base, title }],
    [isMoved, 'move', { kind: 'MOVE_PAGE', ...base, parentId, position }],
    [audience !== before.audience, `show to ${audience ?? 'all'}`, { kind: 'SET_AUDIENCE', ...base, audience }],
  ];
  const made = changes.filter(([isChanged]) => isChanged).map(([, ...change]) => toChange(page.path, ...change));
  return [...made, ...contentChanges(page, before, options)];
}

function contentChanges(page: LocalPage, before: KnownPage, { replaces, spell }: PlanOptions): Change[] {
  if (page.before === undefined)
    throw fault(page, 'Its JSON is missing. Put it back too, or remove the id for a new page');
  const change = edited(page, `${before.pageId} ${before.revision}`, spell);
  if (change === null) return [];
  const { ops, content, losses } = change;
  const base = baseOf(before);
  const loses = losses.length === 0 ? '' : `; its JSON loses: ${losses.join('; ')}`;
  if (ops !== null) return [toChange(page.path, `edit${loses}`, { kind: 'PATCH_CONTENT', ...base, ops })];
  if (!replaces) throw fault(page, 'The changed parts have no ids, so only the whole page can be replaced: --replace');
  const operation = { kind: 'REPLACE_CONTENT', ...base, content, confirmReplace: true } as const;
  return [toChange(page.path, `replace the whole page${loses}`, operation)];
}

function edited({ path, body, before }: LocalPage, seed: string, spell: Spell) {
  try {
    return editPage(before, body, seed, spell);
  } catch (error) {
    throw error instanceof AppError ? fault({ path }, error.message) : error;
  }
}

function baseOf({ pageId, revision, checksum }: KnownPage) {
  return { pageId, baseRevisionNumber: revision, baseChecksum: checksum };
}

function fault({ path }: Pick<LocalPage, 'path'>, says: string): AppError {
  return new AppError('invalid', `${path}.md: ${says}`);
}
