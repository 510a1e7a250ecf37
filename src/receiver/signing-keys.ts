import type { KeyObject } from 'node:crypto';
import { toSigningKey } from './verify-signature.ts';

/** The keys with which a delivery to an install may be signed; undefined if there is no such install. */
export interface SigningKeys {
  get(install: string): readonly KeyObject[] | undefined;
}

/** @param installs a change in the Map applies from the next delivery on */
export function createSigningKeys(installs: ReadonlyMap<string, { webhookSecrets: readonly string[] }>): SigningKeys {
  const made = new WeakMap<readonly string[], readonly KeyObject[]>();
  return {
    get(install) {
      const secrets = installs.get(install)?.webhookSecrets;
      if (secrets === undefined) return undefined;
      const keys = made.get(secrets) ?? secrets.map(toSigningKey);
      made.set(secrets, keys);
      return keys;
    },
  };
}
