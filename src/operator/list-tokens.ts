import type { Context } from '../context.ts';
import { toAppError } from '../domain/errors.ts';
import { maskText } from '../lib/mask.ts';
import type { TokenRecord } from '../sources/token-record.ts';

export interface ListedToken extends TokenRecord {
  install: string;
  /** Whether it is the one that the install is read with. */
  isUsed: boolean;
}

export interface ListedTokens {
  tokens: ListedToken[];
  unread: { install: string; failure: string }[];
}

/** The tokens of employers' own accounts, as the marketplace has them now. Other installs have none to list. */
export async function listTokens(
  { sources }: Context,
  installs: readonly string[],
  signal: AbortSignal,
): Promise<ListedTokens> {
  const listed: ListedTokens = { tokens: [], unread: [] };
  for (const install of installs) {
    const source = sources.get(install);
    if (source?.listTokens === undefined) continue;
    try {
      const { token: used } = await source.readGrant(signal);
      const tokens = await source.listTokens(signal);
      listed.tokens.push(...tokens.map((token) => ({ install, ...token, isUsed: token.id === used?.id })));
    } catch (error) {
      listed.unread.push({ install, failure: maskText(toAppError(error).message) });
    }
  }
  return listed;
}
