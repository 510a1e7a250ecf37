import { statSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { AppError } from '../domain/errors.ts';
import type { Environment } from './document.ts';
import { findConfiguration } from './find-configuration.ts';
import { readSmallFile } from './small-file.ts';

/** The `.env` beside the configuration file; undefined where there is none, or nothing in it. */
export function findEnvFile(config: string | undefined, env: Environment, cwd: string): string | undefined {
  const source = findConfiguration({ path: config, env, cwd });
  if (source.kind !== 'file') return undefined;
  const file = path.join(path.dirname(source.path), '.env');
  return statSync(file, { throwIfNoEntry: false })?.size ? file : undefined;
}

/** A blank line, a comment, or a variable, whose value may go on in further lines between quotes. */
const entry =
  /[^\S\n]*(?:(?:export[^\S\n]+)?[a-z_][\w.-]*[^\S\n]*=[^\S\n]*(?:"[^"]*"|'[^']*'|`[^`]*`|(?!["'`])[^#\n]*)[^\S\n]*)?(?:#[^\n]*)?(?:\n|$)/iy;

/**
 * The variables of an environment file. A fault is named by its line, and quotes nothing, as it may be a secret.
 *
 * @throws AppError `invalid` for a line that sets no variable: it would be ignored
 */
export function readEnvFile(file: string, cwd: string): Environment {
  const text = readSmallFile(file, cwd);
  for (let at = 0; at < text.length; at = entry.lastIndex) {
    entry.lastIndex = at;
    if (entry.test(text)) continue;
    const line = text.slice(0, at).split('\n').length;
    throw new AppError(
      'invalid',
      `${path.resolve(cwd, file)}, line ${line}: must be NAME=value, with both quotes or none`,
    );
  }
  return parseEnv(text);
}
