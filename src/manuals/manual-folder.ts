import path from 'node:path';
import { parse, stringify } from 'yaml';
import { AppError } from '../domain/errors.ts';
import { stripBom } from '../lib/text.ts';
import { Beside, check, Front, ManualFile } from './manual-schema.ts';
import { writeMarkdown } from './page-text.ts';

/**
 * A manual as files. `manual.json` says what it is, and which pages it had when it was pulled. Each page is a Markdown file
 * with front matter, beside its canonical JSON. The pages below it are in the folder of its name.
 */

/** The text of each file by its path, with `/` between folders. */
export type Files = Readonly<Record<string, string>>;

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
  beside: Map<string, Beside>;
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
  const names = all.filter((name) => path.posix.basename(name) === 'manual.json');
  const folders = names.map((name) => path.posix.dirname(name));
  const isIn = (folder: string, name: string) => folder === '.' || name.startsWith(`${folder}/`);
  const read = folders.map((folder, index) => {
    const inner = folders.filter((one) => one !== folder && isIn(folder, one));
    const own = all.filter((name) => isIn(folder, name) && !inner.some((one) => isIn(one, name)));
    return {
      ...check(ManualFile, names[index] ?? '', () => JSON.parse(files[names[index] ?? ''] ?? '')),
      ...readPages(folder, own, files),
    };
  });
  const ids = read.flatMap(({ id }) => id ?? []);
  const twice = read.find(({ id }) => id !== undefined && ids.indexOf(id) !== ids.lastIndexOf(id));
  if (twice === undefined) return read;
  throw new AppError('invalid', `${twice.folder}/manual.json: Another folder has this id. Remove it for a new manual`);
}

function readPages(folder: string, names: readonly string[], files: Files) {
  const jsons = names
    .filter((name) => name.endsWith('.json'))
    .map((name) => [name, readBeside(files[name] ?? '')] as const);
  const beside = new Map(jsons.flatMap(([name, read]) => (read === undefined ? [] : [[name, read] as const])));
  const contents = new Map([...beside.values()].map((one) => [one.id, one]));
  const [unmerged, own] = [true, false].map((is) =>
    names.filter((name) => name.endsWith('.md') && name.endsWith(theirs) === is),
  );
  const local = (own ?? []).map((name) =>
    readPage(name, files[name] ?? '', contents, beside.get(`${name.slice(0, -3)}.json`)),
  );
  const ids = local.flatMap(({ front }) => front.id ?? []);
  const twice = local.find(
    ({ front }) => front.id !== undefined && ids.indexOf(front.id) !== ids.lastIndexOf(front.id),
  );
  if (twice === undefined) return { folder, local, beside, unmerged: unmerged ?? [] };
  throw new AppError('invalid', `${twice.path}.md: Another file has this id. Remove it for a new page`);
}

/** Undefined for another JSON file, and for one that was not written wholly. */
function readBeside(text: string): Beside | undefined {
  try {
    return Beside.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function readPage(
  file: string,
  given: string,
  known: ReadonlyMap<string, Beside>,
  beside: Beside | undefined,
): LocalPage {
  const text = stripBom(given).replaceAll('\r\n', '\n');
  const [, head = '', body = text] = /^---\n(.*?)\n---(?:\n(.*))?$/s.exec(text) ?? [];
  const front = check(Front, file, () => parse(head, { maxAliasCount: 0 }) ?? {});
  const { dir: above, name } = path.posix.parse(file);
  if (name === 'manual') throw new AppError('invalid', `${file}: Only manual.json has this name. Rename the page`);
  if (front.id === undefined && beside !== undefined) {
    throw new AppError('invalid', `${file}: Put back “id: ${beside.id}”, or delete its JSON to make a new page`);
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
export function writeBeside(id: string, revision: number, content: unknown): string {
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
