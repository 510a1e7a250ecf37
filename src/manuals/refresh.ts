import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  type FileChanges,
  type LocalPage,
  type ManualFolder,
  sayUnmerged,
  theirs,
  toJson,
  toSlug,
  writePage,
  writePageJson,
} from './manual-folder.ts';
import type { KnownPage } from './manual-schema.ts';
import { saysSame, writeMarkdown } from './page-text.ts';

/** The pages whose content has to be read. */
export function listUnread({ local, ...manual }: ManualFolder, pages: readonly KnownPage[]): KnownPage[] {
  const byId = new Map(local.map((page) => [page.front.id, page]));
  const isKnown = (page: KnownPage) => manual.pages.some((one) => isDeepStrictEqual(one, page));
  return pages.filter((page) => {
    const here = byId.get(page.pageId);
    return !page.isArchived && (here === undefined ? !isKnown(page) : isOther(here, page));
  });
}

function isOther({ before, front }: LocalPage, { revision, checksum }: KnownPage): boolean {
  return before === undefined || front.revision !== revision || front.checksum !== checksum;
}

export interface Refreshed {
  files: FileChanges;
  /** Where both sides changed the same page, in sentences. */
  conflicts: string[];
}

/**
 * Brings the files of a manual up to date, and keeps what was edited there. Where both sides have edited a page, the file
 * stays, and the other version is put beside it.
 *
 * @param remote the manual at the marketplace, as its file is to say it
 * @param contents of the pages that `listUnread` names
 * @param isPushed whether the marketplace has just taken over what the files said
 */
export function refresh(
  manual: ManualFolder,
  remote: { pages: readonly KnownPage[] },
  contents: ReadonlyMap<string, unknown>,
  isPushed: boolean,
): Refreshed {
  const { folder, local, jsons } = manual;
  const known = new Map(manual.pages.map((page) => [page.pageId, page]));
  const present = remote.pages.filter(({ isArchived }) => !isArchived);
  const placed = placePages(manual, present);
  const written = placed.map((one) => writePlaced(one, contents.get(one.page.pageId), isPushed));
  const kept = new Set(placed.map(({ here }) => here));
  const others = local.filter((page) => !kept.has(page));
  // A file of a page that was archived before was put back, to restore it.
  const isGone = ({ front }: LocalPage) => known.get(front.id ?? '')?.isArchived === false;
  const edited = others.filter((page) => isGone(page) && isEdited(page, known.get(page.front.id ?? '')));
  const staying = others.filter((page) => !isGone(page) || edited.includes(page));
  const stems = new Set([...placed.map(({ at }) => at), ...staying.map((page) => page.path)]);
  const unused = [
    ...local.flatMap((page) => (stems.has(page.path) ? [] : [`${page.path}.md`])),
    ...[...jsons].flatMap(([name, { id }]) => (known.has(id) && !stems.has(stemOf(name)) ? [name] : [])),
  ];
  // What the marketplace has archived stays in conflict until its file is gone.
  const old = edited.flatMap(({ front }) => known.get(front.id ?? '') ?? []);
  const isOld = ({ pageId }: KnownPage) => old.some((one) => one.pageId === pageId);
  const pages = [...remote.pages.filter((page) => !isOld(page)), ...old];
  const files: FileChanges = {
    ...Object.fromEntries(unused.map((name) => [name, null])),
    ...Object.assign({}, ...written.map((one) => one.files)),
    [path.posix.join(folder, 'manual.json')]: toJson({ ...remote, pages }),
  };
  const left = edited.map((page) => `${page.path}.md was edited here, and archived there. Delete it, or remove its id`);
  const waiting = manual.unmerged.filter((name) => files[name] === undefined).map(sayUnmerged);
  return { files, conflicts: [...written.flatMap(({ conflicts }) => conflicts), ...left, ...waiting] };
}

function stemOf(json: string): string {
  return json.slice(0, -'.json'.length);
}

interface Placed {
  page: KnownPage;
  /** As it was when it was pulled. */
  before: KnownPage | undefined;
  /** The path of its file. */
  at: string;
  /** Its file as it is. */
  here: LocalPage | undefined;
  /** The id of the page above its file; undefined for a new page. */
  above: string | null | undefined;
  /** Whether its JSON is beside it. */
  hasJson: boolean;
}

/** Where the files of the pages go, which come with parents first. What was moved here stays there. */
function placePages({ folder, local, jsons, ...manual }: ManualFolder, pages: readonly KnownPage[]): Placed[] {
  const known = new Map(manual.pages.map((page) => [page.pageId, page]));
  const byPath = new Map(local.map((page) => [page.path, page]));
  const stems = new Map([...jsons].map(([name, { id }]) => [id, stemOf(name)]));
  const paths = new Map<string | null, string>([[null, folder]]);
  const taken = new Set([...byPath.keys(), ...stems.values()]);
  const fresh = new Set(local.filter(({ front }) => front.id === undefined));
  const find = ({ pageId, title }: KnownPage, below: string) => {
    if (known.has(pageId)) return local.find(({ front }) => front.id === pageId);
    // A new page that was pushed has no id in its file yet.
    const made =
      local.find(({ front }) => front.id === pageId) ??
      [...fresh].find((one) => one.front.title === title && one.above === below);
    if (made !== undefined) fresh.delete(made);
    return made;
  };
  const idAbove = (here: LocalPage | undefined) =>
    here?.above === folder ? null : byPath.get(here?.above ?? '')?.front.id;
  return pages.map((page) => {
    const below = paths.get(page.parentId) ?? folder;
    const here = find(page, below);
    const above = idAbove(here);
    const found = { page, before: known.get(page.pageId), here, above };
    const usual = here?.path ?? stems.get(page.pageId);
    const name = usual === undefined ? toSlug(page.title) : path.posix.basename(usual);
    let at = path.posix.join(isMoved(found) ? (here?.above ?? below) : below, name);
    for (let turn = 2; at !== usual && taken.has(at); turn += 1) at = path.posix.join(below, `${name}-${turn}`);
    taken.add(at);
    paths.set(page.pageId, at);
    return { ...found, at, hasJson: jsons.has(`${at}.json`) };
  });
}

function isMoved({ before, here, above }: Pick<Placed, 'before' | 'here' | 'above'>): boolean {
  return here !== undefined && before !== undefined && above !== before.parentId;
}

/** Also if it was deleted here, and nobody has changed it there. */
function isUpToDate({ page, before, at, here, hasJson }: Placed, content: unknown): boolean {
  if (!isDeepStrictEqual(page, before)) return false;
  return here === undefined || (content === undefined && here.path === at && hasJson);
}

/** @param content undefined if the file has the present one */
function writePlaced(placed: Placed, content: unknown, isPushed: boolean): Refreshed {
  const { page, before, at, here } = placed;
  const isDeleted = here === undefined && before?.isArchived === false;
  if (isUpToDate(placed, content)) return { files: {}, conflicts: [] };
  const merged = content === undefined ? here?.body : mergeBody(content, here);
  const front = isPushed ? {} : changedOf(here, before);
  const files = {
    [`${at}.md`]: writePage({ ...toFront(page), ...front }, merged ?? here?.body ?? ''),
    [`${at}.json`]: writePageJson(page.pageId, page.revision, content ?? here?.before),
  };
  const back = `${at}.md was deleted here, and changed there. Delete it again to archive it`;
  if (isDeleted) return { files, conflicts: [back] };
  if (merged !== undefined && !isPlacedTwice(placed) && !isSaidTwice(placed, front)) return { files, conflicts: [] };
  const other = `${at}${theirs}`;
  const version = writePage(toFront(page), writeMarkdown(content ?? here?.before).body);
  return { files: { ...files, [other]: version }, conflicts: [sayUnmerged(other)] };
}

/** Whether both sides have moved it, to different places. */
function isPlacedTwice(placed: Placed): boolean {
  const { page, before, above } = placed;
  return isMoved(placed) && page.parentId !== before?.parentId && page.parentId !== above;
}

/** Whether both sides have changed its title or its audience, to different ones. */
function isSaidTwice({ page, before }: Placed, front: Partial<LocalPage['front']>): boolean {
  const names = ['title', 'audience'] as const;
  return names.some((name) => name in front && ![before?.[name], front[name]].includes(page[name]));
}

function toFront({ pageId: id, title, audience, position, revision, checksum }: KnownPage): LocalPage['front'] {
  return { id, title, audience, position, revision, checksum };
}

/** What was changed in the front matter. */
function changedOf(here: LocalPage | undefined, before: KnownPage | undefined): Partial<LocalPage['front']> {
  if (here === undefined || before === undefined) return {};
  const { front } = here;
  const names = ['title', 'audience', 'position'] as const;
  const changed = names.filter((name) => ![undefined, before[name]].includes(front[name]));
  return Object.fromEntries(changed.map((name) => [name, front[name]]));
}

function isEdited(page: LocalPage, before: KnownPage | undefined): boolean {
  const isChanged = before === undefined || Object.keys(changedOf(page, before)).length > 0;
  return isChanged || !saysSame(page.before, page.body);
}

/** @returns undefined if both sides have edited it */
function mergeBody(content: unknown, here: LocalPage | undefined): string | undefined {
  if (here === undefined) return writeMarkdown(content).body;
  if (saysSame(content, here.body)) return here.body;
  return here.before !== undefined && saysSame(here.before, here.body) ? writeMarkdown(content).body : undefined;
}
