import { AppError } from '../domain/errors.ts';
import { readVariable } from './environment.ts';
import { readSmallFile } from './small-file.ts';
import { secret } from './values-schema.ts';

/**
 * The platform token for a command: from a file, else from `GANGWAY_CONNECT_TOKEN` (or its `_FILE`);
 * undefined without either.
 *
 * @throws AppError `invalid` if it cannot be read
 */
export function readConnectToken(file: string | undefined, env = process.env, cwd = process.cwd()): string | undefined {
  if (file !== undefined) return toToken(readSmallFile(file, cwd));
  const token = readVariable('GANGWAY_CONNECT_TOKEN', env, cwd);
  return token === undefined ? undefined : toToken(token);
}

/** @throws AppError `invalid` for a text that cannot be a token */
export function toToken(text: string): string {
  const checked = secret.safeParse(text.trim());
  if (checked.success) return checked.data;
  throw new AppError('invalid', `The token ${checked.error.issues[0]?.message}`);
}
