import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { By } from '../../db/audit-store.ts';
import { type Hold, holdLock } from '../../db/hold-lock.ts';
import type { LockStore } from '../../db/lock-store.ts';
import { AppError, toAppError } from '../../domain/errors.ts';
import { backoffMs } from '../../lib/backoff.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { maskText } from '../../lib/mask.ts';
import type { Grant } from '../../sources/source.ts';
import type { GrantStore } from '../grant-store.ts';
import type { Rotation } from '../rotation-store.ts';
import { type Advanced, advanceRotation, asAccount, type RotationDeps } from './advance-rotation.ts';
import { planExpiry, planScopes } from './plan-rotation.ts';

export interface RotateDeps extends RotationDeps {
  locks: LockStore;
  grants: Pick<GrantStore, 'holdersOf'>;
}

/** The new token counts: every instance sends it with its next request. */
export interface RotatedToken {
  /** The account, for `finishRotation`. */
  account: string;
  tokenId: string;
  scopes: string[];
  expiresAt: string | null;
  /** The id of the old token, which is revoked once no process can send it any more. */
  replacedId: string;
  /** Whether an earlier rotation of the account was under way, and was finished instead of a new one. */
  wasUnderWay: boolean;
}

export interface RotateWish {
  /** Scopes to keep beside those that are needed, or `all` that the old token has. */
  keep: readonly string[] | 'all';
  by: By;
}

/** Longer than the calls of one step take with their retries. */
const leaseMs = 120_000;
const patienceMs = 30_000;

/**
 * Replaces the token of an install, and of every install that has the same token, up to where the new one counts.
 * `finishRotation`, or a running bridge, revokes the old one then. A rotation of the account that is under way is gone
 * on with instead: so it may be repeated after any failure.
 *
 * @throws AppError `invalid` for a token that cannot be rotated, or a scope that it lacks; `conflict` if the account has
 * as many tokens as it may have; `unavailable` if another process is at it for more than half a minute; otherwise as the
 * marketplace says. The old token counts then as before.
 */
export async function rotateToken(
  deps: RotateDeps,
  install: string,
  wish: RotateWish,
  signal: AbortSignal,
): Promise<RotatedToken> {
  const { id: grantId } = (await askAccount(deps, install, signal)).grant;
  const rotated = await whileHeld(deps, grantId, signal, async (hold) => {
    const wasUnderWay = await joinOrBegin(deps, install, wish, signal);
    const rotation = await advanceTo(deps, grantId, hold, signal).catch(async (error: unknown) => {
      await clearAway(deps, grantId, hold, signal).catch(() => undefined);
      throw error;
    });
    return rotation === undefined ? null : { ...toRotated(rotation), wasUnderWay };
  });
  if (rotated !== null) return rotated;
  throw new AppError(
    'conflict',
    `An earlier rotation of ${install} came to nothing and was cleared away: run it again`,
  );
}

/**
 * Goes on until the old token is revoked; what fails is tried again.
 *
 * @returns false if that is still to come when the signal is aborted: a running bridge does it then
 */
export async function finishRotation(deps: RotateDeps, grantId: string, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    const rotation = await deps.rotations.find(grantId);
    if (rotation === undefined) return true;
    if (isDue(rotation, deps)) await resumeRotation(deps, grantId, signal).catch(() => undefined);
    // Another process may be at it.
    await wait(pollMs, undefined, { signal }).catch(() => undefined);
  }
  return false;
}

const pollMs = 200;

/** For a worker: takes all steps that can be taken now, unless another process is at it. */
export async function resumeRotation(deps: RotateDeps, grantId: string, signal: AbortSignal): Promise<void> {
  await holdLock(deps, { ...lockOf(grantId), patienceMs: 0, signal }, async (hold) => {
    let advanced: Advanced = 'on';
    while (advanced === 'on') {
      const rotation = await deps.rotations.find(grantId);
      if (rotation === undefined || !isDue(rotation, deps)) return;
      advanced = await advanceOnce(deps, rotation, hold, signal);
    }
  });
}

interface AskedAccount {
  source: ReturnType<typeof asAccount>;
  grant: Grant;
}

/** With the token that counts now. */
async function askAccount({ registry }: RotateDeps, install: string, signal: AbortSignal): Promise<AskedAccount> {
  const known = registry.installs.get(install);
  if (known === undefined) throw new AppError('not_found', `There is no install ${install}`);
  const source = asAccount(registry.openWith(install, await registry.tokens.current(known.token)));
  return { source, grant: await source.readGrant(signal) };
}

/** @returns whether a rotation of this token was under way */
async function joinOrBegin(deps: RotateDeps, install: string, wish: RotateWish, signal: AbortSignal): Promise<boolean> {
  // Asked again, as another process may just have replaced the token.
  const account = await askAccount(deps, install, signal);
  const underWay = await deps.rotations.find(account.grant.id);
  if (underWay === undefined) {
    await beginRotation(deps, install, account, wish, signal);
    return false;
  }
  const used = account.grant.token?.id;
  if (underWay.replacedId === used || underWay.tokenId === used) return true;
  throw new AppError(
    'conflict',
    `Another token of the account is being replaced, for ${underWay.install}: try again in a minute`,
  );
}

async function beginRotation(
  { rotations }: RotateDeps,
  install: string,
  { source, grant }: AskedAccount,
  { keep, by }: RotateWish,
  signal: AbortSignal,
): Promise<void> {
  const { id: replacedId, scopes: held = [] } = grant.token ?? {};
  const record = (await source.listTokens(signal)).find(({ id }) => id === replacedId);
  if (!replacedId || record === undefined) {
    throw new AppError('invalid', `The marketplace does not say which of its tokens ${install} has`);
  }
  const id = randomUUID();
  await rotations.begin({
    id,
    grantId: grant.id,
    install,
    replacedId,
    name: `Gangway ${install.slice(0, 60)} ${id}`,
    scopes: keep === 'all' ? held : planScopes(source, held, keep),
    expiresAt: planExpiry(record, new Date(by.at)),
    by,
  });
}

/** Until the new token counts. @returns undefined if it came to nothing */
async function advanceTo(
  deps: RotateDeps,
  grantId: string,
  hold: Hold,
  signal: AbortSignal,
): Promise<Rotation | undefined> {
  for (;;) {
    const rotation = await deps.rotations.find(grantId);
    if (rotation === undefined || rotation.step === 'draining') return rotation;
    const advanced = await advanceOnce(deps, rotation, hold, signal);
    if (advanced === 'waiting') return undefined;
  }
}

/** A new token that is not to be used is revoked at once, if that can be. */
async function clearAway(deps: RotateDeps, grantId: string, hold: Hold, signal: AbortSignal): Promise<void> {
  const rotation = await deps.rotations.find(grantId);
  if (rotation?.step === 'discarding') await advanceOnce(deps, rotation, hold, signal);
}

async function advanceOnce(deps: RotateDeps, rotation: Rotation, hold: Hold, signal: AbortSignal): Promise<Advanced> {
  const { rotations, clock } = deps;
  try {
    const install = await findInstall(deps, rotation);
    return await advanceRotation(deps, { ...rotation, install }, hold, signal);
  } catch (thrown) {
    const error = toAppError(thrown);
    const failures = rotation.failures + 1;
    const nextAttemptAt = instantIn(clock, backoffMs(failures, error.retryAfterMs));
    await rotations.postpone(rotation.id, nextAttemptAt, { message: maskText(error.message), failures });
    throw error;
  }
}

/** Where the install that it was begun for is gone, another one of the account, which can still revoke what it made. */
async function findInstall({ registry, grants }: RotateDeps, { install, grantId }: Rotation): Promise<string> {
  if (registry.installs.has(install)) return install;
  return (await grants.holdersOf(grantId)).find((name) => registry.installs.has(name)) ?? install;
}

async function whileHeld<T>(
  deps: RotateDeps,
  grantId: string,
  signal: AbortSignal,
  work: (hold: Hold) => Promise<T>,
): Promise<T> {
  const boxed = await holdLock(deps, { ...lockOf(grantId), patienceMs, signal }, async (hold) => ({
    result: await work(hold),
  }));
  if (boxed !== null) return boxed.result;
  throw new AppError('unavailable', 'Another process rotates a token of this account: try again in a while');
}

function lockOf(grantId: string) {
  return { name: `tokens:${grantId}`, what: 'The rotation of a token', leaseMs };
}

function isDue({ nextAttemptAt }: Rotation, { clock }: RotateDeps): boolean {
  return (nextAttemptAt ?? '') <= toInstant(clock.now());
}

function toRotated({ grantId: account, tokenId, scopes, expiresAt, replacedId }: Rotation) {
  return { account, tokenId: tokenId ?? '', scopes: [...scopes], expiresAt, replacedId };
}
