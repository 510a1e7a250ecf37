import { Buffer } from 'node:buffer';
import { AppError, toAppError } from '../domain/errors.ts';
import type { ConfigFault, Environment } from './document.ts';
import { readVariable } from './environment.ts';

export interface SecretKeys {
  /** The key with which everything secret is encrypted; undefined if a key file is used instead. */
  secretKey: Buffer | undefined;
  /** The key that `gangway key rotate` replaces by `secretKey`. */
  previousSecretKey: Buffer | undefined;
}

const remedy = 'make one with: openssl rand -base64 32';

/**
 * Reads `GANGWAY_SECRET_KEY` and `GANGWAY_SECRET_KEY_PREVIOUS`, each from the variable or its `_FILE`.
 * `isRequired`: several instances share the database, so a key file on one of them is not enough.
 */
export function loadSecretKeys(
  env: Environment,
  folder: string,
  isRequired: boolean,
): SecretKeys & { faults: ConfigFault[] } {
  const faults: ConfigFault[] = [];
  const name = 'GANGWAY_SECRET_KEY';
  const secretKey = load(name);
  const previousSecretKey = load(`${name}_PREVIOUS`);
  if (secretKey === undefined && faults.length === 0 && isRequired) {
    faults.push({ path: [name], message: `is required with PostgreSQL; ${remedy}` });
  }
  return { secretKey, previousSecretKey, faults };

  function load(variable: string): Buffer | undefined {
    try {
      const text = readVariable(variable, env, folder);
      return text === undefined ? undefined : parseSecretKey(text.trim());
    } catch (error) {
      faults.push({ path: [variable], message: toAppError(error).message });
      return undefined;
    }
  }
}

/** 32 bytes as hex, base64 or base64url, with or without padding. Throws `invalid`. */
function parseSecretKey(text: string): Buffer {
  if (/^[\da-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  // the last of the 43 characters carries four bits of the key and two that must be zero
  if (/^[\w+/-]{42}[AEIMQUYcgkosw048]=?$/.test(text)) return Buffer.from(text, 'base64');
  throw new AppError('invalid', `must be 32 bytes as base64, base64url or hex; ${remedy}`);
}
