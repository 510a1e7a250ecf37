import path from 'node:path';
import {
  type LocalPage,
  type ManualFolder,
  sayUnmerged,
  theirs,
  toJson,
  toSlug,
  writeBeside,
  writePage,
} from './manual-folder.ts';
import type { KnownPage } from './manual-schema.ts';
import { saysSame, writeMarkdown } from './page-text.ts';

/** The pages whose content has to be read. */
export function listUnread({ local }: Pick<ManualFolder, 'local'>, pages: readonly KnownPage[]): KnownPage[] {
  const byId = new Map(local.map((page) => [page.front.id, page]));
  return pages.filter((page) => !page.isArchived && isOther(byId.get(page.pageId), page));
}

function isOther(local: LocalPage | undefined, { revision, checksum }: KnownPage): boolean {
  return local?.before === undefined || local.front.revision !== revision || local.front.checksum !== checksum;
}

export interface Refreshed {
  /** The files to write, and with null those to delete. */
  files: Record<string, string | null>;
  /** Where both sides changed the same page, in sentences. */
  clashes: string[];
}

/**
 * Brings the files of a manual up to date, and keeps what was edited there. Where both sides have edited a page, the file
 * stays, and the other version is put beside it.
 *
 * @param remote the manual at the marketplace, as its file is to say it
 * @param contents of the pages that `listUnread` names
 */
export function refresh(
  manual: ManualFolder,
  remote: { pages: readonly KnownPage[] },
  contents: ReadonlyMap<string, unknown>,
): Refreshed {
  const { folder, local } = manual;
  const known = new Map(manual.pages.map((page) => [page.pageId, page]));
  const placed = placePages(
    manual,
    remote.pages.filter(({ isArchived }) => !isArchived),
  );
  const all = placed.map((one) => writePlaced(one, known.get(one.page.pageId), contents.get(one.page.pageId)));
  const kept = new Set(placed.map(({ here }) => here));
  const gone = local.filter((page) => page.front.id !== undefined && !kept.has(page));
  const edited = gone.filter(({ before, body }) => !saysSame(before, body));
  const fresh = local.filter((page) => page.front.id === undefined && !kept.has(page));
  const stay = new Set([...placed.map(({ at }) => at), ...[...edited, ...fresh].map((page) => page.path)]);
  const deleted = manual.names.filter((name) => !stay.has(name.replace(/(\.theirs)?\.\w+$/, '')));
  const files: Refreshed['files'] = {
    ...Object.fromEntries(deleted.map((name) => [name, null])),
    ...Object.assign({}, ...all.map((one) => one.files)),
    [path.posix.join(folder, 'manual.json')]: toJson(remote),
  };
  const left = edited.map((page) => `${page.path}.md was edited here, and archived there. Delete it, or remove its id`);
  return { files, clashes: [...all.flatMap(({ clashes }) => clashes), ...left] };
}

interface Placed {
  page: KnownPage;
  /** The path of its file. */
  at: string;
  /** Its file as it is. */
  here: LocalPage | undefined;
}

/** Where the files of the pages go, which come with parents first. What was moved here stays there. */
function placePages({ folder, local, ...manual }: ManualFolder, pages: readonly KnownPage[]): Placed[] {
  const parents = new Map(manual.pages.map((page) => [page.pageId, page.parentId]));
  const byPath = new Map(local.map((page) => [page.path, page]));
  const paths = new Map<string | null, string>([[null, folder]]);
  const taken = new Set(byPath.keys());
  const find = (page: KnownPage, below: string) => {
    // A new page that was pushed has no id in its file yet.
    const isNew = ({ front, above }: LocalPage) =>
      front.id === undefined && front.title === page.title && above === below;
    const own = local.find(({ front }) => front.id === page.pageId);
    return own ?? (parents.has(page.pageId) ? undefined : local.find(isNew));
  };
  return pages.map((page) => {
    const below = paths.get(page.parentId) ?? folder;
    const here = find(page, below);
    const above = here?.above === folder ? null : byPath.get(here?.above ?? '')?.front.id;
    const isMoved = here !== undefined && parents.has(page.pageId) && above !== parents.get(page.pageId);
    const name = here === undefined ? toSlug(page.title) : path.posix.basename(here.path);
    let at = path.posix.join(isMoved ? here.above : below, name);
    for (let turn = 2; at !== here?.path && taken.has(at); turn += 1) at = path.posix.join(below, `${name}-${turn}`);
    taken.add(at);
    paths.set(page.pageId, at);
    return { page, at, here };
  });
}

/** @param content undefined if the file has the present one */
function writePlaced({ page, at, here }: Placed, before: KnownPage | undefined, content: unknown): Refreshed {
  if (content === undefined && here?.path === at && JSON.stringify(page) === JSON.stringify(before))
    return { files: {}, clashes: [] };
  const front = writeFront(page, before, here);
  const merged = content === undefined ? here?.body : mergeBody(content, here);
  const isTitleOther = new Set([page.title, before?.title ?? page.title, front.title]).size === 3;
  const files = {
    [`${at}.md`]: writePage(front, merged ?? here?.body ?? ''),
    [`${at}.json`]: writeBeside(page.pageId, content ?? here?.before),
  };
  if (merged !== undefined && !isTitleOther) return { files, clashes: [] };
  const other = `${at}${theirs}`;
  return {
    files: { ...files, [other]: writePage(toFront(page), writeMarkdown(content).body) },
    clashes: [sayUnmerged(other)],
  };
}

function toFront({ pageId: id, title, audience, position, revision, checksum }: KnownPage) {
  return { id, title, audience, position, revision, checksum };
}

/** What was changed here stays. */
function writeFront(page: KnownPage, before: KnownPage | undefined, here: LocalPage | undefined) {
  const remote = toFront(page);
  if (before === undefined || here === undefined) return remote;
  const names = ['title', 'audience', 'position'] as const;
  const changed = names.filter((name) => ![undefined, before[name]].includes(here.front[name]));
  return { ...remote, ...Object.fromEntries(changed.map((name) => [name, here.front[name]])) };
}

/** @returns undefined if both sides have edited it */
function mergeBody(content: unknown, here: LocalPage | undefined): string | undefined {
  if (here === undefined) return writeMarkdown(content).body;
  if (saysSame(content, here.body)) return here.body;
  return here.before !== undefined && saysSame(here.before, here.body) ? writeMarkdown(content).body : undefined;
}
