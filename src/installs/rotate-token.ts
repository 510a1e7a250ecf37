import type { Context } from '../context.ts';
import type { By } from '../db/audit-store.ts';
import { type Hold, withLock } from '../db/lock.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import type { JobKind } from '../jobs/job.ts';
import { dayMs, hourMs, toInstant } from '../lib/clock.ts';
import { isGranted, tokens as tokensOf } from '../marketplace/contract/account.ts';
import type { Grant, Source } from '../marketplace/source.ts';
import type { TokenRecord } from '../marketplace/source-records.ts';
import type { InstallRegistry } from './install-registry.ts';
import { findReplacement, type Replacement, saveReplacement, tokenDigest } from './replaced-token-store.ts';

export interface RotateOptions {
  /** Scopes to keep beside those that are needed. */
  keep: readonly string[];
  by: By;
}

/** Longer than one call to the marketplace takes with its retries. */
const leaseMs = 120_000;

/**
 * Replaces the token of an install, and of every install that has the same token: a new token is created, checked and
 * stored, and the old one is revoked last. Every process reads the stored token before each request. A process that
 * dies in between leaves one token that is not used; the next rotation finds it by its name or id and revokes it.
 *
 * @throws AppError `invalid` for a token that cannot be rotated, or a scope that it lacks; `conflict` while another
 * process rotates it, or if the account has as many tokens as it may have; otherwise as the marketplace says. The old
 * token is then still in use, except when only its revocation failed: the message says so.
 * @returns the new token; `replacedId` is the id of the old one
 */
export async function rotateToken(
  ctx: Context,
  registry: InstallRegistry,
  install: string,
  options: RotateOptions,
  signal: AbortSignal,
) {
  const original = registry.installs.get(install)?.token;
  if (original === undefined) throw new AppError('not_found', `There is no install ${install}`);
  const lock = { name: `token:${tokenDigest(original)}`, what: 'The rotation of a token', leaseMs, patienceMs: 0 };
  const rotated = await withLock(ctx, { ...lock, signal }, (hold) =>
    rotate(ctx, registry, { install, original, ...options }, hold, signal),
  );
  if (rotated !== null) return rotated;
  throw new AppError('conflict', `Another process is rotating the token of ${install}. Try again in two minutes`);
}

async function rotate(
  ctx: Context,
  registry: InstallRegistry,
  { install, original, keep, by }: RotateOptions & { install: string; original: string },
  hold: Hold,
  signal: AbortSignal,
) {
  const before = await findReplacement(ctx, original);
  const account = asAccount(registry.openWith(install, before?.token ?? original));
  const grant = await account.readGrant(signal);
  const tokens = await account.listTokens(signal);
  const replaced = tokens.find(({ id }) => id === grant.token?.id);
  if (replaced === undefined) {
    throw new AppError('invalid', `The marketplace does not say which of its tokens ${install} uses`);
  }
  const scopes = planScopes(account, grant.token?.scopes ?? [], keep);
  const expiresAt = planExpiry(replaced, new Date(by.at));
  const name = `Gangway ${tokenDigest(original).slice(0, 16)}`;
  for (const { id } of findUnused(tokens, replaced, name, before)) {
    await hold.renew();
    await revoke(account, id, signal);
  }
  await hold.renew();
  const wanted = { name, scopes, expiresAt: expiresAt ?? undefined };
  // Not repeated: if the answer is lost, the next rotation finds the token by its name.
  const { token: secret, metadata: token } = await account.call(tokensOf.create, wanted, signal);
  const renewed = asAccount(registry.openWith(install, secret));
  const revokeNew = () => revoke(account, token.id, signal).catch(() => undefined);
  try {
    await hold.renew();
    await checkNew(renewed, { grant, tokenId: token.id, scopes }, signal);
    await hold.renew();
  } catch (error) {
    await revokeNew();
    const { code, message } = toAppError(error);
    const says = `The new token could not be used, so ${install} keeps its token: ${message}`;
    throw new AppError(code, says, { cause: error });
  }
  // A failure here does not revoke the new token: it may have been stored.
  const next = { token: secret, tokenId: token.id, replacedId: replaced.id };
  if (!(await saveReplacement(ctx, { original, before, next, install, scopes, by }))) {
    await revokeNew();
    throw new AppError('conflict', `Another process rotated the token of ${install} in the meantime`);
  }
  await revoke(renewed, replaced.id, signal).catch((error: unknown) => {
    const { code, message } = toAppError(error);
    const says = `${install} uses the new token ${token.id}, but the old token ${replaced.id} could not be revoked: ${message}. Revoke it in the settings of the account, or run this again`;
    throw new AppError(code, says, { cause: error });
  });
  return { tokenId: token.id, scopes, expiresAt, replacedId: replaced.id };
}

/** What earlier rotations of this token have left: a new token that was not stored, or an old one that still works. */
function findUnused(
  tokens: readonly TokenRecord[],
  used: TokenRecord,
  name: string,
  before: Replacement | undefined,
): TokenRecord[] {
  return tokens.filter((token) => {
    const isOurs = token.name === name || token.id === before?.replacedId;
    return isOurs && token.status === 'active' && token.id !== used.id;
  });
}

/** @throws AppError unless it is a token of the same account, with all its scopes, that may list contracts */
async function checkNew(
  source: Source,
  wanted: { grant: Grant; tokenId: string; scopes: readonly string[] },
  signal: AbortSignal,
): Promise<void> {
  const { id, token } = await source.readGrant(signal);
  const isGrantedAll = wanted.scopes.every((scope) => isGranted(token?.scopes ?? [], scope));
  if (id !== wanted.grant.id || token?.id !== wanted.tokenId || !isGrantedAll) {
    throw new AppError('invalid', 'its account, id or scopes are not as requested');
  }
  await source.listContracts({ status: 'active', wantsMore: () => false }, signal);
}

type Account = Source & Required<Pick<Source, 'call' | 'listTokens'>>;

/** @throws AppError `invalid` for a source whose tokens cannot be replaced */
function asAccount(source: Source): Account {
  if (source.listTokens && source.call) return source as Account;
  throw new AppError(
    'invalid',
    'Only the token of your own account can be rotated. For a customer, ask them for a new token and run "gangway connect"',
  );
}

async function revoke(source: Account, tokenId: string, signal: AbortSignal): Promise<void> {
  try {
    const { token } = await source.call(tokensOf.revoke, { tokenId }, signal);
    if (token.id === tokenId && token.status === 'revoked') return;
  } catch (error) {
    if (toAppError(error).code === 'not_found') return;
    throw error;
  }
  throw new AppError('invalid', 'Could not revoke a token: the answer does not say that it is revoked');
}

/**
 * The needed scopes that the old token has, and those that the operator wants to keep.
 *
 * @throws AppError `invalid` if the old token lacks a scope to keep, or has none of the needed scopes
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

/** Used if the marketplace does not say when a token was made. */
const assumedLifeMs = 90 * dayMs;

/** The new token lives as long as the old one. Null: it never expires. */
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

/** Asks the marketplace when a token expires, and raises an alert if it expires soon. */
export const tokenExpiryJob: JobKind = {
  name: 'token expiry',
  atOnce: 4,
  leaseMs: 2 * 60_000,
  isStanding: true,
  installs: ({ sources }) => [...sources].flatMap(([install, one]) => (one.listTokens === undefined ? [] : [install])),
  async run(ctx, { install }, signal) {
    await checkExpiry(ctx, install, signal);
    return hourMs;
  },
};

export async function checkExpiry(
  { sources, alerts, clock }: Context,
  install: string,
  signal: AbortSignal,
): Promise<void> {
  const source = sources.get(install);
  if (source?.listTokens === undefined) return;
  const { token } = await source.readGrant(signal);
  const used = (await source.listTokens(signal)).find(({ id }) => id === token?.id);
  const from = (used && rotateFrom(used)) ?? null;
  const expiring = from === null || toInstant(clock.now()) < from ? [] : [{ install, expiresAt: used?.expiresAt }];
  for (const fields of expiring) alerts.raise('token_expires', fields);
  alerts.observe('token_expires', { install }, expiring);
}
