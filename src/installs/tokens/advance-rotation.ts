import type { Hold } from '../../db/hold-lock.ts';
import type { InstanceStore } from '../../db/instance-store.ts';
import { AppError, toAppError } from '../../domain/errors.ts';
import { isInstanceRunning } from '../../domain/instance.ts';
import { type Clock, instantIn, toInstant } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { isGranted } from '../../sources/scopes.ts';
import type { Source } from '../../sources/source.ts';
import { longestRequestMs } from '../../sources/token.ts';
import type { TokenCalls } from '../../sources/token-record.ts';
import type { InstallRegistry } from '../install-registry.ts';
import type { Rotation, RotationStore } from '../rotation-store.ts';
import { digestOfReplaced, tokenIsFreshForMs } from '../tokens-in-use.ts';

/**
 * This folder replaces the tokens of employers' accounts. At every moment, also after a crash, each install has a token
 * that works. The old one is revoked last, when no process can send it any more; what was made and is not used is
 * revoked too.
 */
export interface RotationDeps {
  rotations: RotationStore;
  instances: Pick<InstanceStore, 'list'>;
  registry: Pick<InstallRegistry, 'installs' | 'tokens' | 'openWith'>;
  /** How long an old token may still be sent after the switch. */
  drainMs?: number | undefined;
  logger: Logger;
  clock: Clock;
}

/** `on`: another step can be taken now. `waiting`: not before `nextAttemptAt`, which is stored. */
export type Advanced = 'on' | 'waiting' | 'settled' | 'discarded';

/** A request that was begun at the last moment, and some seconds for clocks that differ. */
const usualDrainMs = tokenIsFreshForMs + longestRequestMs + 5000;
/** How soon to look again whether every instance has seen the new token. */
const lookAgainMs = 2000;
/** A request that was given up may take effect this much later. */
const arrivesWithinMs = 60_000;
/** A new token that is refused may not be known everywhere at the marketplace yet. */
const provenWithinMs = 10 * 60_000;

/**
 * Takes the next step of a rotation. Every step may be repeated, as each process may die in it.
 *
 * @throws AppError of the marketplace; the rotation is then to be tried again, or is being discarded
 */
export async function advanceRotation(
  deps: RotationDeps,
  rotation: Rotation,
  hold: Hold,
  signal: AbortSignal,
): Promise<Advanced> {
  switch (rotation.step) {
    case 'creating':
      return await createReplacement(deps, rotation, hold, signal);
    case 'proving':
      return await proveReplacement(deps, rotation, hold, signal);
    case 'draining':
      return await revokeReplaced(deps, rotation, hold, signal);
    case 'discarding':
      return await discardReplacement(deps, rotation, hold, signal);
    case 'settled':
      return 'settled';
  }
}

async function createReplacement(
  deps: RotationDeps,
  rotation: Rotation,
  hold: Hold,
  signal: AbortSignal,
): Promise<Advanced> {
  const { rotations, registry, clock } = deps;
  const { id, grantId, replacedId, scopes, expiresAt, attempts } = rotation;
  const replaced = await currentToken(deps, rotation);
  const source = asAccount(registry.openWith(rotation.install, replaced));
  await hold.renew();
  const grant = await source.readGrant(signal);
  if (grant.id !== grantId || grant.token?.id !== replacedId) return await giveUp(deps, rotation);
  await revokeMade(source, rotation, hold, signal);
  await hold.renew();
  if (!(await rotations.attempt(rotation, toInstant(clock.now())))) return 'on';
  const wanted = { name: nameOf(rotation, attempts + 1), scopes, expiresAt };
  const { token, secret } = await source.createToken(wanted, signal).catch(async (error: unknown) => {
    // A refusal made nothing. What an earlier attempt may have made is still looked for.
    const isRefused = (toAppError(error).status ?? 500) < 500;
    if (isRefused && attempts === 0) await rotations.forget(id);
    else if (isRefused) await giveUp(deps, rotation);
    throw error;
  });
  const replacedDigest = digestOfReplaced(replaced, secret);
  await rotations.keep({ id, attempts: attempts + 1 }, { tokenId: token.id, token: secret, replacedDigest });
  return 'on';
}

/** It answers as the same account, with all its scopes, and what is read most can be read. Only then it counts. */
async function proveReplacement(
  deps: RotationDeps,
  rotation: Rotation,
  hold: Hold,
  signal: AbortSignal,
): Promise<Advanced> {
  const { rotations, registry, clock, logger } = deps;
  const { install, replacedDigest, replacedId, tokenId, attemptedAt } = rotation;
  const token = requireToken(rotation);
  if (replacedDigest !== digestOfReplaced(await currentToken(deps, rotation), token)) {
    logger.info({ install, tokenId }, 'The token of the install was changed by hand: the new one is not used');
    return await giveUp(deps, rotation);
  }
  try {
    await prove(registry.openWith(install, token), rotation, hold, signal);
  } catch (thrown) {
    const error = toAppError(thrown);
    const isUnknownYet = error.code === 'unauthenticated' && instantIn(clock, -provenWithinMs) < (attemptedAt ?? '');
    if (isDefinite(error) && !isUnknownYet) await giveUp(deps, rotation);
    throw error;
  }
  await hold.renew();
  const isSwitched = await rotations.switch(rotation, toInstant(clock.now()), instantIn(clock, drainMsOf(deps)));
  if (isSwitched) logger.info({ install, tokenId, replacedId }, 'The new token counts, and the old one runs dry');
  return 'on';
}

async function prove(source: Source, rotation: Rotation, hold: Hold, signal: AbortSignal): Promise<void> {
  const { grantId, tokenId, scopes } = rotation;
  await hold.renew();
  const grant = await source.readGrant(signal);
  const granted = grant.token?.scopes ?? [];
  const isAsWanted =
    grant.id === grantId && grant.token?.id === tokenId && scopes.every((scope) => isGranted(granted, scope));
  if (!isAsWanted) throw new AppError('invalid', 'The new token is not what was asked for, so it is not used');
  await hold.renew();
  await source.listContracts({ status: 'active', wantsMore: () => false }, signal);
}

/** Last of all, when no process can send the old token any more. */
async function revokeReplaced(
  deps: RotationDeps,
  rotation: Rotation,
  hold: Hold,
  signal: AbortSignal,
): Promise<Advanced> {
  const { rotations, registry, clock, logger } = deps;
  const { id, install, replacedId, switchedAt } = rotation;
  const dryAt = new Date(Date.parse(switchedAt ?? '') + drainMsOf(deps)).toISOString();
  if (toInstant(clock.now()) < dryAt) return await waitUntil(deps, rotation, dryAt);
  const behind = await listBehind(deps, switchedAt ?? '');
  if (behind.length > 0) {
    logger.info({ install, instances: behind }, 'Instances have not seen the new token yet: the old one is kept');
    return await waitUntil(deps, rotation, instantIn(clock, lookAgainMs));
  }
  const source = asAccount(registry.openWith(install, requireToken(rotation)));
  await hold.renew();
  await source.revokeToken(replacedId, signal).catch(ignoreAbsent);
  await revokeMade(source, rotation, hold, signal);
  if (isInDoubt(rotation, clock)) return await waitUntil(deps, rotation, arrivedAt(rotation));
  if (await rotations.settle(id, toInstant(clock.now()))) {
    logger.info({ install, replacedId }, 'The old token is revoked');
  }
  return 'settled';
}

/** Whatever was made is revoked, with the token that counts. */
async function discardReplacement(
  deps: RotationDeps,
  rotation: Rotation,
  hold: Hold,
  signal: AbortSignal,
): Promise<Advanced> {
  const { rotations, registry, clock } = deps;
  const source = asAccount(registry.openWith(rotation.install, await currentToken(deps, rotation)));
  await revokeMade(source, rotation, hold, signal);
  if (isInDoubt(rotation, clock)) return await waitUntil(deps, rotation, arrivedAt(rotation));
  await rotations.forget(rotation.id);
  return 'discarded';
}

/** Revokes what this rotation has had made and does not use: its secret was lost, or it came too late. */
async function revokeMade(source: Account, rotation: Rotation, hold: Hold, signal: AbortSignal): Promise<void> {
  const { attempts, step, tokenId } = rotation;
  if (attempts === 0) return;
  const names = new Set(Array.from({ length: attempts }, (_, index) => nameOf(rotation, index + 1)));
  const isUsed = (id: string) => id === tokenId && step !== 'discarding';
  await hold.renew();
  for (const { id, name, status } of await source.listTokens(signal)) {
    if (name === null || !names.has(name) || status !== 'active' || isUsed(id)) continue;
    await hold.renew();
    await source.revokeToken(id, signal).catch(ignoreAbsent);
  }
}

/** Each attempt has a name of its own, so that none is taken for a later one. */
function nameOf({ name }: Rotation, attempt: number): string {
  return `${name} ${attempt}`;
}

/** The names of live instances that have not said that they have seen the new token. The dead do not count. */
async function listBehind({ instances, clock }: RotationDeps, switchedAt: string): Promise<string[]> {
  const now = clock.now();
  return (await instances.list())
    .filter((one) => isInstanceRunning(one, now) && (one.installsLoadedAt ?? '') <= switchedAt)
    .map(({ name }) => name);
}

/** Whether a token may still be made by a request whose answer was lost. */
function isInDoubt(rotation: Rotation, clock: Clock): boolean {
  const wasAnswered = rotation.attempts === 1 && rotation.tokenId !== null;
  return rotation.attempts > 0 && !wasAnswered && toInstant(clock.now()) < arrivedAt(rotation);
}

function arrivedAt({ attemptedAt }: Rotation): string {
  return new Date(Date.parse(attemptedAt ?? '') + arrivesWithinMs).toISOString();
}

async function waitUntil({ rotations }: RotationDeps, { id }: Rotation, at: string): Promise<Advanced> {
  await rotations.postpone(id, at, null);
  return 'waiting';
}

async function giveUp({ rotations, clock }: RotationDeps, { id }: Rotation): Promise<Advanced> {
  await rotations.discard(id, toInstant(clock.now()));
  return 'on';
}

/** The token of the install as it counts now. @throws AppError `not_found` if the install is gone */
async function currentToken({ registry }: RotationDeps, { install }: Rotation): Promise<string> {
  const known = registry.installs.get(install);
  if (known === undefined) throw new AppError('not_found', `There is no install ${install} any more`);
  return await registry.tokens.current(known.token);
}

type Account = Source & TokenCalls;

/** @throws AppError `invalid` for a source whose tokens cannot be replaced */
export function asAccount(source: Source): Account {
  if (source.listTokens && source.createToken && source.revokeToken) return source as Account;
  throw new AppError(
    'invalid',
    'Only the token of an account of your own can be rotated: a customer makes a new token for a platform, and "gangway connect" takes it',
  );
}

function requireToken({ id, token }: Rotation): string {
  if (token !== null) return token;
  throw new AppError('internal', `The rotation ${id} has no token`);
}

/** It would be answered the same again. */
function isDefinite({ code }: AppError): boolean {
  return code !== 'unavailable' && code !== 'rate_limited' && code !== 'internal';
}

function ignoreAbsent(error: unknown): void {
  if (toAppError(error).code !== 'not_found') throw error;
}

function drainMsOf({ drainMs = usualDrainMs }: RotationDeps): number {
  return drainMs;
}
