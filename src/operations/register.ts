import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '../context.ts';
import type { Row } from '../db/schema.ts';
import { claimContext } from '../db/seal-contexts.ts';
import { AppError } from '../domain/errors.ts';
import { explaining } from '../hires/account.ts';
import { dropClaim, listClaims, noteClaimUrl, saveClaim } from '../hires/hire-store.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import { type Client, createClient } from '../marketplace/client.ts';
import { identity } from '../marketplace/contract/account.ts';
import { reasonOf } from '../marketplace/refusal.ts';

/** Registers an account of your own, which a person claims (spec: part A sections 2.2, 4.1 and 5). */

/** The tokens of a registration. The marketplace shows each only once. */
interface Secrets {
  claimToken: string;
  grantType: string;
  /** What it may do before the claim is little. */
  accessToken: string;
}

interface Claim extends Secrets, Pick<Row<'claim'>, 'expiresAt'> {
  /** Whether an earlier claim has expired, so that this is another account. */
  isAnew: boolean;
}

/**
 * Goes on with the registration of an earlier run, or registers anew. What it returns is stored.
 *
 * @param hasExpired whether the marketplace says so of the last one, whatever this clock says
 */
export async function registerAccount(
  ctx: Context,
  install: string,
  hasExpired: boolean,
  signal: AbortSignal,
): Promise<Claim> {
  const row = (await listClaims(ctx)).find((one) => one.install === install);
  if (row !== undefined && !hasExpired && row.expiresAt > toInstant(ctx.clock.now())) {
    const secrets = JSON.parse(ctx.box.open(row.secrets, claimContext(row)).toString('utf8')) as Secrets;
    return { ...secrets, expiresAt: row.expiresAt, isAnew: false };
  }
  const made = await explaining(openClient(ctx).call)(identity.register, { agent_name: 'Gangway' }, signal);
  const secrets = { claimToken: made.claim_token, grantType: made.grant_type, accessToken: made.access_token };
  const expiresAt = made.claim_token_expires_at ?? instantIn(ctx.clock, usualLifeMs);
  const sealed = ctx.box.seal(Buffer.from(JSON.stringify(secrets)), claimContext({ install }));
  await saveClaim(ctx, { install, secrets: sealed, expiresAt, url: null });
  return { ...secrets, expiresAt, isAnew: row !== undefined };
}

const usualLifeMs = 24 * 3_600_000;

function openClient({ config }: Pick<Context, 'config'>): Client {
  return createClient({ baseUrl: config.marketplace.employerBaseUrl, token: '' });
}

/**
 * Waits until a person has claimed the account.
 *
 * @param onLink gets where a person claims it, and a code to compare
 * @returns the token, which is not stored yet; null if the claim has expired
 */
export async function awaitClaim(
  ctx: Context,
  install: string,
  { claimToken: claim_token, grantType: grant_type }: Claim,
  onLink: (url: string, code: string | null, until: string | null) => void,
  signal: AbortSignal,
): Promise<string | null> {
  const { call } = openClient(ctx);
  try {
    const started = await call(identity.claim, { claim_token }, signal);
    const { claim_url: url, user_code, expires_at } = started;
    await noteClaimUrl(ctx, install, url);
    onLink(url, user_code, expires_at);
    for (let restMs = started.interval * 1000; ; ) {
      await sleep(restMs, undefined, { signal });
      const token = await call(identity.token, { grant_type, claim_token }, signal).catch((error: unknown) => {
        const reason = reasonOf(error);
        if (reason === 'slow_down') restMs += slowerMs;
        else if (reason !== 'authorization_pending') throw error;
      });
      if (token !== undefined) return token.access_token;
    }
  } catch (error) {
    if (signal.aborted)
      throw new AppError('conflict', 'Nobody has claimed the account yet. Run the same command to go on');
    if (reasonOf(error) === 'expired_token') return null;
    if (reasonOf(error) !== 'invalid_grant') throw error;
    await dropClaim(ctx, install);
    const why = 'The claim was used. Unless another run of this command connected the account, its token was lost';
    const action = `Then make one in the settings of your account, and run gangway connect ${install} --employer`;
    throw new AppError('conflict', `${why}. ${action}`, { cause: error });
  }
}

/** RFC 8628. */
const slowerMs = 5000;

/** After the claim: the token from before is revoked, because nobody uses it any more. */
export async function endClaim(ctx: Context, install: string, { accessToken }: Claim, signal: AbortSignal) {
  await dropClaim(ctx, install);
  await openClient(ctx)
    .call(identity.revoke, { token: accessToken }, signal)
    .catch(() => undefined);
}
