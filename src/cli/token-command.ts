import { finishRotation, type RotatedToken, rotateToken } from '../installs/tokens/rotate-token.ts';
import { type ListedToken, type ListedTokens, listTokens } from '../operator/list-tokens.ts';
import type { Printed } from './define-command.ts';
import { pickInstall, pickInstalls } from './pick-install.ts';
import type { ServicesSession } from './session.ts';
import { type Columns, formatList } from './table.ts';
import { decidedBy } from './with-storage.ts';

/** `gangway token`: the tokens of employers' own accounts. */

export async function runTokenList(
  { install }: { install: string | undefined },
  session: ServicesSession,
): Promise<Printed> {
  const { services, terminal } = session;
  const chosen = pickInstalls(session, services.installs, install);
  return printTokens(await listTokens(services.sources, chosen, terminal.signal));
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

/** Until then the old token is nearly always revoked; if not, a running bridge goes on. */
const patienceMs = 180_000;

export async function runTokenRotate(
  { install: named, keep }: TokenRotation,
  session: ServicesSession,
): Promise<Printed> {
  const { services, terminal } = session;
  const install = pickInstall(session, services.installs, named);
  const rotated = await rotateToken(services.rotation, install, { keep, by: decidedBy() }, terminal.signal);
  terminal.stderr.write(
    `${rotated.tokenId} is in use. ${rotated.replacedId} is revoked when nothing can send it any more.\n`,
  );
  const patience = AbortSignal.any([terminal.signal, AbortSignal.timeout(patienceMs)]);
  const isOldRevoked = await finishRotation(services.rotation, rotated.account, patience);
  return printRotatedToken({ install, ...rotated, isOldRevoked });
}

export interface PrintedRotation extends RotatedToken {
  install: string;
  isOldRevoked: boolean;
}

export function printRotatedToken({ account: _, ...rotated }: PrintedRotation): Printed {
  return { data: rotated, text: () => toText(rotated) };
}

function toText({ install, ...rotated }: Omit<PrintedRotation, 'account'>): string {
  const { tokenId, scopes, expiresAt, replacedId, wasUnderWay, isOldRevoked } = rotated;
  return [
    ...(wasUnderWay ? ['A rotation was under way, and was gone on with.'] : []),
    `${install} has the token ${tokenId} instead of ${replacedId}: ${scopes.join(', ')}; it ${expiresAt === null ? 'never expires' : `expires at ${expiresAt}`}.`,
    isOldRevoked
      ? `${replacedId} is revoked.`
      : `${replacedId} still works: a running "gangway start" revokes it when nothing can send it any more, or run this again.`,
  ].join('\n');
}
