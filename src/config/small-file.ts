import { isUtf8 } from 'node:buffer';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { AppError } from '../domain/errors.ts';
import { dropTrailing, stripBom } from '../lib/text.ts';

const maxBytes = 64 * 1024;

/**
 * The content of a file with one secret or a short text, without its byte order mark and its trailing
 * newline. A relative `file` is relative to `folder`. Throws `invalid` if it is missing, empty, not a regular
 * file, not UTF-8 or larger than 64 KiB. No message quotes the content.
 */
export function readSmallFile(file: string, folder: string): string {
  const absolute = path.resolve(folder, file);
  try {
    return readWhole(absolute);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('invalid', `the file ${absolute} cannot be read`, { cause: error });
  }
}

function readWhole(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) throw new AppError('invalid', `the file ${file} does not exist`);
  if (!stats.isFile()) throw new AppError('invalid', `${file} is not a regular file`);
  if (stats.size > maxBytes) throw new AppError('invalid', `the file ${file} is over 64 KiB`);
  const bytes = readFileSync(file);
  // A NUL shows UTF-16, in which no name of a variable would be recognised.
  if (!isUtf8(bytes) || bytes.includes(0))
    throw new AppError('invalid', `the file ${file} is not UTF-8; save it as UTF-8`);
  const content = dropTrailing(stripBom(bytes.toString('utf8')), '\r\n');
  if (content === '') throw new AppError('invalid', `the file ${file} is empty`);
  return content;
}
