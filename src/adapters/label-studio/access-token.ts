import { AppError } from '../../domain/errors.ts';
import { TokenClaims } from './label-studio-schema.ts';

/** What authorises a request. */
export interface RequestCredentials {
  /** The value of `Authorization`. */
  header(signal: AbortSignal): Promise<string>;
  /** Called after a 401 for a value of `header`: whether another value may be accepted. */
  isRenewable(refused: string): boolean;
  /** What no error may quote. */
  secrets(): string[];
}

/** An access token is renewed after this share of its life. */
const usedShare = 0.8;
const refreshTimeoutMs = 15_000;

/**
 * A personal access token is a JSON Web Token that is exchanged for access for some minutes. Every other
 * token is a legacy token and is sent as it is.
 *
 * @param exchange asks Label Studio for an access token
 */
export function createCredentials(
  token: string,
  exchange: (signal: AbortSignal) => Promise<string>,
): RequestCredentials {
  if (!isPersonalToken(token)) {
    return {
      header: async () => `Token ${token}`,
      isRenewable: () => false,
      secrets: () => [token],
    };
  }
  let access: { header: string; staleAt: number } | undefined;
  let exchanging: Promise<string> | undefined;

  async function renew(): Promise<string> {
    try {
      // It has a time-out of its own, because other calls wait for it too.
      const value = await exchange(AbortSignal.timeout(refreshTimeoutMs));
      access = { header: `Bearer ${value}`, staleAt: performance.now() + lifeMsOf(value) };
      return access.header;
    } finally {
      exchanging = undefined;
    }
  }

  return {
    async header(signal) {
      signal.throwIfAborted();
      if (access !== undefined && performance.now() < access.staleAt) return access.header;
      exchanging ??= renew();
      return await orGivenUp(exchanging, signal);
    },
    isRenewable(refused) {
      if (access?.header === refused) access = undefined;
      return true;
    },
    secrets: () => [token, ...(access === undefined ? [] : [access.header.slice(7)])],
  };
}

export function isPersonalToken(token: string): boolean {
  return claimsOf(token) !== undefined;
}

/** The time from issue to expiry, because the clocks of the two machines may differ. */
function lifeMsOf(accessToken: string): number {
  const { exp = 0, iat = 0 } = claimsOf(accessToken) ?? {};
  return Math.max(exp - iat, 0) * 1000 * usedShare;
}

function claimsOf(token: string): TokenClaims | undefined {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  try {
    const payload: unknown = JSON.parse(Buffer.from(parts[1] ?? '', 'base64url').toString());
    return TokenClaims.safeParse(payload).data;
  } catch {
    return undefined;
  }
}

async function orGivenUp<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: given, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(new AppError('unavailable', 'Could not get access: given up'));
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([work, given]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}
