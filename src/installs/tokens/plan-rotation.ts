import { AppError } from '../../domain/errors.ts';
import type { TokenRecord } from '../../sources/record-schema.ts';
import { isGranted, type Source } from '../../sources/source.ts';

/** What a token that replaces another one may do, and how long. Pure. */

/**
 * The scopes that Gangway needs, of those that the old token has, and what the operator wants to keep. None that the
 * old one lacks.
 *
 * @throws AppError `invalid` where the old token lacks what is to be kept, or has nothing of what is needed
 */
export function planScopes(
  { neededScopes }: Pick<Source, 'neededScopes'>,
  held: readonly string[],
  keep: readonly string[],
): string[] {
  const missing = keep.filter((scope) => !isGranted(held, scope));
  if (missing.length > 0) {
    throw new AppError(
      'invalid',
      `The token lacks ${missing.join(', ')}, and a new token cannot have more scopes than the old one`,
    );
  }
  const needed = neededScopes.map(({ scope }) => scope).filter((scope) => isGranted(held, scope));
  if (needed.length === 0) {
    throw new AppError('invalid', 'The token has none of the needed scopes, so a new one would not help');
  }
  return [...new Set([...needed, ...keep])];
}

type Lived = Pick<TokenRecord, 'createdAt' | 'expiresAt'>;

const dayMs = 86_400_000;
/** Where the marketplace does not say when a token was made. */
const assumedLifeMs = 90 * dayMs;

/** As long a life as the old one had. Null: it never expires. */
export function planExpiry({ createdAt, expiresAt }: Lived, now: Date): string | null {
  return expiresAt === null ? null : new Date(now.getTime() + lifeMsOf(createdAt, expiresAt)).toISOString();
}

/**
 * Since when it should be rotated: seven days before it expires, or when a third of its life is left, whichever is
 * later. Null: it never expires.
 */
export function rotateFrom({ createdAt, expiresAt }: Lived): string | null {
  if (expiresAt === null) return null;
  const aheadMs = Math.min(7 * dayMs, lifeMsOf(createdAt, expiresAt) / 3);
  return new Date(Date.parse(expiresAt) - aheadMs).toISOString();
}

function lifeMsOf(createdAt: string | null, expiresAt: string): number {
  const lifeMs = createdAt === null ? assumedLifeMs : Date.parse(expiresAt) - Date.parse(createdAt);
  return Math.max(lifeMs, 0);
}
