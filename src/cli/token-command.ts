import { type RotatedToken, rotateToken } from '../installs/tokens/rotate-token.ts';
import type { Columns } from '../operations/show.ts';
import { formatList } from '../operations/text-table.ts';
import { type ListedToken, type ListedTokens, listTokens } from '../operator/list-tokens.ts';
import type { Printed } from './define-command.ts';
import { pickInstall, pickInstalls } from './pick-install.ts';
import type { ServicesSession } from './session.ts';
import { decidedBy } from './with-storage.ts';

/** `gangway token`: the tokens of employers' own accounts. */

export async function runTokenList(
  { install }: { install: string | undefined },
  session: ServicesSession,
): Promise<Printed> {
  const { services, terminal } = session;
  const chosen = pickInstalls(session, services.installs, install);
  return printTokens(await listTokens(services, chosen, terminal.signal));
}

export function printTokens(listed: ListedTokens): Printed {
  return {
    data: listed,
    text: () => formatList(listed.tokens, columns, 'No install is an account of your own.'),
    problems: listed.unread.map(({ install, failure }) => `${install}: ${failure}`),
    status: listed.unread.length === 0 ? 0 : 1,
  };
}

const columns: Columns<ListedToken> = [
  ['install', ({ install }) => install],
  ['token', ({ id }) => id],
  ['status', ({ status, isUsed }) => (isUsed ? `${status}, in use here` : status)],
  ['expires', ({ expiresAt }) => expiresAt ?? 'never'],
  ['last used', ({ lastUsedAt }) => lastUsedAt],
  ['scopes', ({ scopes }) => scopes.join(' ')],
  ['name', ({ name }) => name],
];

export interface TokenRotation {
  install: string | undefined;
  keep: string[];
}

export async function runTokenRotate(
  { install: named, keep }: TokenRotation,
  session: ServicesSession,
): Promise<Printed> {
  const { services, terminal } = session;
  const install = pickInstall(session, services.installs, named);
  return printRotatedToken(
    install,
    await rotateToken(services, session.registry, install, { keep, by: decidedBy() }, terminal.signal),
  );
}

export function printRotatedToken(install: string, rotated: RotatedToken): Printed {
  const { tokenId, scopes, expiresAt, replacedId } = rotated;
  const expiry = expiresAt === null ? 'never expires' : `expires at ${expiresAt}`;
  const text = `${install} uses the token ${tokenId}: ${scopes.join(', ')}; it ${expiry}. The old token ${replacedId} is revoked.`;
  return { data: { ...rotated, install }, text: () => text };
}
