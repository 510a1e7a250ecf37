import { createHmac } from 'node:crypto';
import type { Database } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { shareReading } from '../lib/share-reading.ts';
import type { Token } from '../sources/token.ts';
import { readRevision } from './installs-revision.ts';
import { createRotationStore, type Replacement } from './rotation-store.ts';

/**
 * Which token counts, where one was rotated: the new one counts instead of the replaced one, wherever that stands, in
 * the configuration or in the database. Once the operator puts another token there, that one counts.
 */
export interface TokensInUse {
  /** Looks now which tokens were replaced. */
  look(): Promise<void>;
  /** The token that counts instead of this one; itself where it was not replaced. Looks if the last look is old. */
  current(token: string, refused?: string): Promise<string>;
  /** For a source: asks before each request. */
  follow(token: string): Token;
  /** How long ago the last look began. */
  ageMs(): number;
}

/**
 * No request begins with a token that was looked at longer ago, in any process. So after a switch an old token is sent
 * for this long, and then never again: also by a process that was frozen, or that no list of instances knows.
 */
export const tokenIsFreshForMs = 5000;

export function createTokensInUse(database: Database, box: SecretBox, freshForMs = tokenIsFreshForMs): TokensInUse {
  const rotations = createRotationStore(database, box);
  let replacements: Replacement[] = [];
  let revision: string | undefined;
  let lookedAt = Number.NEGATIVE_INFINITY;
  // Monotonic: a corrected clock must not make an old look fresh.
  const ageMs = () => performance.now() - lookedAt;
  const looking = shareReading(async () => {
    const beganAt = performance.now();
    const found = await readRevision(database.kysely);
    if (found !== revision) {
      replacements = await rotations.listReplacements();
      revision = found;
    }
    lookedAt = beganAt;
  });

  async function current(token: string, refused?: string): Promise<string> {
    // Renewed a little earlier, so that what was fresh a moment ago is fresh still.
    await looking.read(refused === undefined ? freshForMs * 0.8 : 0, never);
    if (ageMs() < freshForMs) return findReplacement(replacements, token);
    throw new AppError('unavailable', 'Could not see which token counts: the database answers too slowly');
  }

  return {
    look: () => looking.read(0, never),
    current,
    follow: (token) => (refused) => current(token, refused),
    ageMs,
  };
}

/** A look is over soon, and others may wait for it too. */
const { signal: never } = new AbortController();

/** Follows a token that was replaced more than once. Pure. */
function findReplacement(replacements: readonly Replacement[], token: string): string {
  const next = replacements.find((one) => one.replacedDigest === digestOfReplaced(token, one.token));
  if (next === undefined) return token;
  return findReplacement(
    replacements.filter((one) => one !== next),
    next.token,
  );
}

/** Keyed with the new token, which is sealed, so that nothing is learnt about the old one without the key. */
export function digestOfReplaced(replaced: string, token: string): string {
  return createHmac('sha256', token).update(replaced).digest('base64url');
}
