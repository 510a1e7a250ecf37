import { readFileSync } from 'node:fs';
import { AppError } from '../domain/errors.ts';
import { type Document, isDocument } from './document.ts';
import { parseJson } from './parse-json.ts';

/** The content of a configuration file, not validated yet. Throws `invalid` with the name of the file. */
export function readDocument(file: string): Document {
  try {
    const document = parseJson(readText(file));
    if (isDocument(document)) return document;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new AppError('invalid', `${file}: ${error.message}`, { cause: error });
  }
  throw new AppError('invalid', `${file}: must hold one JSON object, {…}`);
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    const problem = isMissing ? 'there is no such file; "gangway init" writes one' : 'cannot be read';
    throw new AppError('invalid', problem, { cause: error });
  }
}
