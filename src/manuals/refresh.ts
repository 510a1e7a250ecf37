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
import { isMadeWith, saysSame, writeMarkdown } from './page-text.ts';

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
  const { folder, local, jsons, unmerged } = manual;
  const ids = new Set(remote.pages.map(({ pageId }) => pageId));
  const missing = manual.pages.filter(({ pageId }) => !ids.has(pageId));
  const pages = [...remote.pages, ...missing.map((page) => ({ ...page, isArchived: true }))];
  const matches = matchFiles(manual, pages, contents, isPushed);
  const places = placeFiles(manual, matches);
  const present = matches.flatMap((match): Placed[] => {
    const at = match.page.isArchived ? undefined : places.get(match.page.pageId);
    return at === undefined ? [] : [{ ...match, at, hasJson: jsons.has(`${at}.json`) }];
  });
  const written = present.map((one) => writeFiles(one, contents.get(one.page.pageId), isPushed));
  // The file of a page that was archived before was put back, to restore it.
  const archived = matches.filter(({ page, before }) => page.isArchived && before?.isArchived === false);
  const edited = archived.filter(isEdited);
  const replaced = new Set([...present, ...archived.filter((one) => !edited.includes(one))].map(({ here }) => here));
  const staying = local
    .filter((page) => !replaced.has(page))
    .map((page) => ({ ...page, at: places.get(page.path) ?? page.path }));
  const moved = staying.filter((page) => page.at !== page.path);
  const stems = new Set([...present, ...staying].map(({ at }) => at));
  const known = new Set(manual.pages.map(({ pageId }) => pageId));
  const names = [
    ...local.map((page) => `${page.path}.md`),
    ...[...jsons].flatMap(([name, { id }]) => (known.has(id) ? [name] : [])),
  ];
  // What the marketplace has archived stays in conflict until its file is gone.
  const old = new Map(edited.map(({ page, before }) => [page, before]));
  const files: FileChanges = {
    ...Object.fromEntries(names.filter((name) => !stems.has(stemOf(name))).map((name) => [name, null])),
    ...Object.fromEntries(moved.map(({ at, front, body }) => [`${at}.md`, writePage(front, body)])),
    ...Object.assign({}, ...written.map((one) => one.files)),
    [path.posix.join(folder, 'manual.json')]: toJson({ ...remote, pages: pages.map((page) => old.get(page) ?? page) }),
  };
  const conflicts = [
    ...written.flatMap((one) => one.conflicts),
    ...edited.map(
      ({ here }) => `${here?.path}.md was edited here, and archived there. Delete it, or remove its id and its JSON`,
    ),
    ...unmerged.filter((name) => files[name] === undefined).map(sayUnmerged),
  ];
  return { files, conflicts };
}

function stemOf(name: string): string {
  return name.replace(/\.(md|json)$/, '');
}

interface Match {
  page: KnownPage;
  /** As it was when it was pulled. */
  before: KnownPage | undefined;
  /** Its file as it is. */
  here: LocalPage | undefined;
  /** What was changed in its file, besides its text. */
  ours: Partial<KnownPage>;
}

/** The pages, which come with parents first, with their files. */
function matchFiles(
  { folder, local, ...manual }: ManualFolder,
  pages: readonly KnownPage[],
  contents: ReadonlyMap<string, unknown>,
  isPushed: boolean,
) {
  const known = new Map(manual.pages.map((page) => [page.pageId, page]));
  const byId = new Map(local.map((page) => [page.front.id, page]));
  const fresh = new Set(local.filter(({ front }) => front.id === undefined));
  const idAt = new Map<string, string | null>(local.map((page) => [page.path, page.front.id ?? page.path]));
  idAt.set(folder, null);
  return pages.map((page): Match => {
    const before = known.get(page.pageId);
    // The file of a new page that was pushed has no id yet.
    const isAlike = ({ front, above }: LocalPage) => front.title === page.title && idAt.get(above) === page.parentId;
    const isMade = (one: LocalPage) => isMadeWith(one.path, contents.get(page.pageId));
    const isNew = before === undefined && !page.isArchived;
    const made = isNew ? ([...fresh].find(isMade) ?? [...fresh].find(isAlike)) : undefined;
    const here = byId.get(page.pageId) ?? made;
    if (here === undefined) return { page, before, here, ours: {} };
    fresh.delete(here);
    idAt.set(here.path, page.pageId);
    return { page, before, here, ours: isPushed ? {} : oursOf(here, before ?? page, idAt.get(here.above) ?? null) };
  });
}

function oursOf({ front }: LocalPage, before: KnownPage, parentId: string | null): Partial<KnownPage> {
  const { title, audience = before.audience, position = before.position } = front;
  const all = Object.entries({ title, audience, position, parentId });
  return Object.fromEntries(all.filter(([name, value]) => value !== before[name as keyof KnownPage]));
}

function isEdited({ here, ours }: Match): boolean {
  return here !== undefined && (Object.keys(ours).length > 0 || !saysSame(here.before, here.body));
}

interface Placed extends Match {
  /** Where its file is to be. */
  at: string;
  /** Whether its JSON is there. */
  hasJson: boolean;
}

interface Unplaced {
  /** The path of a new page. */
  parentId: string | null;
  /** Where its file is, if nothing is known of the page above. */
  above: string;
  usual: string | undefined;
  title: string;
}

/** Where the files are to be: of the pages that are not archived, by their ids, and of the new ones, by their paths. */
function placeFiles({ folder, local, jsons }: ManualFolder, matches: readonly Match[]): Map<string | null, string> {
  const stems = new Map([...jsons].map(([name, { id }]) => [id, stemOf(name)]));
  const taken = new Set([...local.map((page) => page.path), ...stems.values()]);
  const ids = new Map(matches.map(({ page, here }) => [here?.path, page.pageId]));
  const waiting = new Map<string | null, Unplaced>();
  for (const { path: usual, above } of local.filter((page) => !ids.has(page.path))) {
    waiting.set(usual, { parentId: ids.get(above) ?? above, above, usual, title: '' });
  }
  for (const { page, here, ours } of matches.filter((one) => !one.page.isArchived)) {
    const { pageId, parentId, title } = { ...page, ...ours };
    const usual = here?.path ?? stems.get(pageId);
    waiting.set(pageId, { parentId, above: here?.above ?? folder, usual, title });
  }
  const places = new Map<string | null, string>([[null, folder]]);
  function place(id: string | null, instead: string): string {
    const one = waiting.get(id);
    if (one === undefined) return places.get(id) ?? instead;
    // If each side put one of two pages below the other, it is as it was here.
    waiting.delete(id);
    const below = place(one.parentId, one.above);
    const name = one.usual === undefined ? toSlug(one.title) : path.posix.basename(one.usual);
    let at = path.posix.join(below, name);
    for (let turn = 2; at !== one.usual && taken.has(at); turn += 1) at = path.posix.join(below, `${name}-${turn}`);
    taken.add(at);
    places.set(id, at);
    return at;
  }
  for (const [id, { above }] of [...waiting]) place(id, above);
  return places;
}

/** @param content undefined if the file has the present one */
function writeFiles({ page, before, here, ours, at, hasJson }: Placed, content: unknown, isPushed: boolean): Refreshed {
  // Also if it was deleted here. The marketplace may have made another position of the one that was pushed.
  const isPlaced = here === undefined || (content === undefined && here.path === at && hasJson && !isPushed);
  if (isPlaced && isDeepStrictEqual(page, before)) return { files: {}, conflicts: [] };
  const body = mergeBody(content, here);
  const now = content ?? here?.before;
  const files = {
    [`${at}.md`]: writePage(toFront({ ...page, ...ours }), body ?? here?.body ?? ''),
    [`${at}.json`]: writePageJson(page.pageId, page.revision, now),
  };
  const back = `${at}.md was deleted here, and changed there. Delete it again to archive it`;
  if (here === undefined && before?.isArchived === false) return { files, conflicts: [back] };
  const names = ['title', 'audience', 'parentId'] as const;
  // Both sides have changed it, to different ones.
  const isTwice = names.some((name) => name in ours && ![before?.[name], ours[name]].includes(page[name]));
  if (body !== undefined && !isTwice) return { files, conflicts: [] };
  const version = writePage(toFront(page), writeMarkdown(now).body);
  return { files: { ...files, [`${at}${theirs}`]: version }, conflicts: [sayUnmerged(`${at}${theirs}`)] };
}

function toFront({ pageId: id, title, audience, position, revision, checksum }: KnownPage): LocalPage['front'] {
  return { id, title, audience, position, revision, checksum };
}

/** @returns undefined if both sides have edited it */
function mergeBody(content: unknown, here: LocalPage | undefined): string | undefined {
  if (here === undefined) return writeMarkdown(content).body;
  if (content === undefined || saysSame(content, here.body)) return here.body;
  return here.before !== undefined && saysSame(here.before, here.body) ? writeMarkdown(content).body : undefined;
}
