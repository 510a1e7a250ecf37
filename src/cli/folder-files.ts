import { isUtf8 } from 'node:buffer';
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { AppError } from '../domain/errors.ts';
import type { FileChanges, Files } from '../manuals/manual-folder.ts';

const maxFiles = 5000;
const maxBytes = 32 * 1024 * 1024;

/**
 * The Markdown and JSON files in a folder and below it. Hidden files are left out.
 *
 * @returns the texts by their path; none if there is no such folder yet
 * @throws AppError `invalid` if they are too many or too large, or for a name or a link that cannot be kept
 */
export function readFolder(folder: string): Record<string, string> {
  const names = lstatSync(folder, { throwIfNoEntry: false }) === undefined ? [] : listFiles(folder);
  if (names.length > maxFiles) throw new AppError('invalid', `${folder} has more than ${maxFiles} files`);
  let bytes = 0;
  const texts = names.map((name) => {
    requireInside(folder, name.split(path.sep).join('/'));
    const content = readFileSync(path.join(folder, name));
    bytes += content.length;
    if (bytes > maxBytes) throw new AppError('invalid', `The files in ${folder} have more than 32 MiB`);
    if (!isUtf8(content)) throw new AppError('invalid', `${path.join(folder, name)} is not UTF-8; save it as UTF-8`);
    return [name.split(path.sep).join('/'), content.toString('utf8')];
  });
  return Object.fromEntries(texts);
}

function listFiles(folder: string, below = ''): string[] {
  return readdirSync(path.join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const name = path.join(below, entry.name);
    if (entry.name.startsWith('.')) return [];
    if (entry.isDirectory()) return listFiles(folder, name);
    // A page without its file would be archived.
    if (entry.isSymbolicLink())
      throw new AppError('invalid', `${path.join(folder, name)} is a link. Put the file there`);
    return /\.(md|json)$/i.test(entry.name) ? [name] : [];
  });
}

/**
 * Writes what has changed, and leaves alone what was edited since it was read.
 *
 * @param read what `readFolder` gave
 * @throws AppError `invalid` for a path that leads out of the folder, also by a link, before anything is written; `conflict`
 * for files that were edited meanwhile, when the others are written
 */
export function writeFolder(folder: string, files: FileChanges, read: Files): void {
  for (const name of Object.keys(files)) requireInside(folder, name);
  const changed = Object.entries(files).filter(([name, text]) => text !== (read[name] ?? null));
  const edited = changed.map(([name]) => name).filter((name) => readText(path.join(folder, name)) !== read[name]);
  for (const [name, text] of changed.filter(([one]) => !edited.includes(one))) {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    if (text === null) rmSync(file, { force: true });
    else {
      writeFileSync(`${file}.part`, text);
      renameSync(`${file}.part`, file);
    }
  }
  if (edited.length === 0) return;
  throw new AppError(
    'conflict',
    `Edited meanwhile, and left as they are: ${edited.join(', ')}. Run gangway manuals pull`,
  );
}

function readText(file: string): string | undefined {
  return lstatSync(file, { throwIfNoEntry: false }) && readFileSync(file, 'utf8');
}

function requireInside(folder: string, name: string): void {
  const parts = name.split('/');
  const isPlain = parts.every((part) => part !== '' && !part.startsWith('.') && !/[\\\p{Cc}]/u.test(part));
  const isLink = parts.some((_, index) =>
    lstatSync(path.join(folder, ...parts.slice(0, index + 1)), { throwIfNoEntry: false })?.isSymbolicLink(),
  );
  if (!isPlain || isLink || !/\.(md|json)$/.test(name)) {
    throw new AppError('invalid', `${JSON.stringify(name)} is no name of a page, or leads out of ${folder}`);
  }
}
