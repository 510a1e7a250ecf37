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
  /** All its other files, by their names. */
  names: string[];
}

/** The end of the name of a file with the marketplace's version of a page, which waits to be merged. */
export const theirs = '.theirs.md';

export function sayUnmerged(name: string): string {
  return `${name} is the version of the marketplace. Merge it into the page beside it, and delete that file`;
}

/** The manuals in a folder. @throws AppError `invalid`, with the name of the file */
export function readManuals(files: Files): ManualFolder[] {
  const all = Object.keys(files).sort();
  return all
    .filter((name) => path.posix.basename(name) === 'manual.json')
    .map((name) => {
      const folder = path.posix.dirname(name);
      const names = all.filter((one) => one !== name && (folder === '.' || one.startsWith(`${folder}/`)));
      const ofPages = names.filter((one) => one.endsWith('.md') && !one.endsWith(theirs));
      const jsons = names
        .filter((one) => one.endsWith('.json'))
        .map((one) => check(Beside, one, () => JSON.parse(files[one] ?? '')));
      const contents = new Map(jsons.map(({ id, content }) => [id, content]));
      const local = ofPages.map((one) => readPage(one, files[one] ?? '', contents));
      return { ...check(ManualFile, name, () => JSON.parse(files[name] ?? '')), folder, local, names };
    });
}

function readPage(file: string, given: string, contents: ReadonlyMap<string | undefined, unknown>): LocalPage {
  const text = stripBom(given).replaceAll('\r\n', '\n');
  const [, head = '', body = text] = /^---\n(.*?)\n---(?:\n(.*))?$/s.exec(text) ?? [];
  const front = check(Front, file, () => parse(head, { maxAliasCount: 0 }) ?? {});
  const { dir: above, name } = path.posix.parse(file);
  if (name === 'manual') throw new AppError('invalid', `${file}: Only manual.json has this name. Rename the page`);
  const { title = name } = front;
  const place = { path: path.posix.join(above, name), above: above || '.' };
  return {
    ...place,
    front: { ...front, title },
    body: body.replace(/^(\s*\n)+/, '').trimEnd(),
    before: contents.get(front.id),
  };
}

/** The file of a page. */
export function writePage(front: LocalPage['front'], body: string): string {
  return `---\n${stringify(front, { lineWidth: 0 })}---\n\n${body}\n`;
}

/** What Markdown cannot say of a page, kept beside it. */
export function writeBeside(id: string, content: unknown): string {
  return toJson({ id, content, losses: writeMarkdown(content).losses });
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
