import path from 'node:path';
import { parse, stringify } from 'yaml';
import { AppError } from '../domain/errors.ts';
import { stripBom } from '../lib/text.ts';
import { check, Front, ManualFile, PageJson } from './manual-schema.ts';
import { writeMarkdown } from './page-text.ts';

/**
 * A manual as files. `manual.json` says what it is, and which pages it had when it was pulled. Each page is a Markdown file
 * with front matter, beside its canonical JSON. The pages below it are in the folder of its name.
 */

/** The text of each file by its path, with `/` between folders. */
export type Files = Readonly<Record<string, string>>;

/** What to write by its path, and with null what to delete. */
export type FileChanges = Readonly<Record<string, string | null>>;

export interface LocalPage {
  /** Without `.md`. */
  path: string;
  /** The path of the page above it; the folder of the manual at the top. */
  above: string;
  front: Front & { title: string };
  body: string;
  /** The content when it was pulled; undefined for a new page. */
  before: unknown;
}

export interface ManualFolder extends ManualFile {
  folder: string;
  local: LocalPage[];
  /** The JSON files of pages, by their names. */
  jsons: Map<string, PageJson>;
  /** The files with the marketplace's version of a page, which wait to be merged. */
  unmerged: string[];
}

export const theirs = '.theirs.md';

export function sayUnmerged(name: string): string {
  const page = name.replace(theirs, '.md');
  return `${page} was edited here and at the marketplace. Merge ${name} into it, and delete that file`;
}

/** The manuals in a folder. @throws AppError `invalid`, with the name of the file */
export function readManuals(files: Files): ManualFolder[] {
  const all = Object.keys(files).sort();
  const named = all.filter((name) => path.posix.basename(name) === 'manual.json');
  const folders = named.map((name) => path.posix.dirname(name));
  const isIn = (folder: string, name: string) => folder === '.' || name.startsWith(`${folder}/`);
  const manuals = named.map((name) => {
    const folder = path.posix.dirname(name);
    const inner = folders.filter((one) => one !== folder && isIn(folder, one));
    const own = all.filter((one) => isIn(folder, one) && !inner.some((deeper) => isIn(deeper, one)));
    return { ...check(ManualFile, name, () => JSON.parse(files[name] ?? '')), folder, ...readPages(own, files) };
  });
  refuseTwice(manuals.map(({ folder, id }) => [`${folder}/manual.json`, id]));
  return manuals;
}

function refuseTwice(files: readonly (readonly [name: string, id: string | undefined])[]): void {
  const ids = files.map(([, id]) => id);
  const [twice] = files.find(([, id], index) => id !== undefined && ids.indexOf(id) < index) ?? [];
  if (twice !== undefined) throw new AppError('invalid', `${twice}: Another file has the same id. Remove it from one`);
}

function readPages(names: readonly string[], files: Files) {
  const read = names.filter((name) => name.endsWith('.json')).map((name) => [name, readPageJson(files[name] ?? '')]);
  const jsons = new Map(read.filter((one): one is [string, PageJson] => one[1] !== undefined));
  const known = new Map([...jsons.values()].map((one) => [one.id, one]));
  const unmerged = names.filter((name) => name.endsWith(theirs));
  const own = names.filter((name) => name.endsWith('.md') && !name.endsWith(theirs));
  const local = own.map((name) => readPage(name, files[name] ?? '', known, jsons.get(name.replace(/md$/, 'json'))));
  refuseTwice(local.map((page) => [`${page.path}.md`, page.front.id]));
  return { local, jsons, unmerged };
}

/** Undefined for another JSON file, and for one that was not written wholly. */
function readPageJson(text: string): PageJson | undefined {
  try {
    return PageJson.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function readPage(
  file: string,
  given: string,
  known: ReadonlyMap<string, PageJson>,
  json: PageJson | undefined,
): LocalPage {
  const text = stripBom(given).replaceAll('\r\n', '\n');
  const [, head = '', body = text] = /^---\n(.*?)\n---(?:\n(.*))?$/s.exec(text) ?? [];
  const front = check(Front, file, () => parse(head, { maxAliasCount: 0 }) ?? {});
  const { dir: above, name } = path.posix.parse(file);
  if (name === 'manual') throw new AppError('invalid', `${file}: Only manual.json has this name. Rename the page`);
  if (front.id === undefined && json !== undefined) {
    throw new AppError('invalid', `${file}: Put back “id: ${json.id}”, or delete its JSON to make a new page`);
  }
  const { revision, content } = known.get(front.id ?? '') ?? {};
  const { title = name } = front;
  const place = { path: path.posix.join(above, name), above: above || '.' };
  const before = revision === front.revision ? content : undefined;
  return { ...place, front: { ...front, title }, body: body.replace(/^(\s*\n)+/, '').trimEnd(), before };
}

/** The file of a page. */
export function writePage(front: LocalPage['front'], body: string): string {
  return `---\n${stringify(front, { lineWidth: 0 })}---\n\n${body}\n`;
}

/** What Markdown cannot say of a page, kept beside it. */
export function writePageJson(id: string, revision: number, content: unknown): string {
  return toJson({ id, revision, content, losses: writeMarkdown(content).losses });
}

export function toJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** A name for a file, of letters and digits. */
export function toSlug(title: string): string {
  const words = title
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}]+/gu, '-');
  const [slug = 'page'] = /[^-](.{0,59}(?<!-))?/u.exec(words) ?? [];
  return slug === 'manual' ? 'page' : slug;
}
