import { instantAfter } from '../../lib/clock.ts';
import { identity, personalScopes } from '../../marketplace/contract/account.ts';
import { type AnyCall, type CallOf, forAnyone, type Route } from '../api-router.ts';
import { refusalOf } from '../error-response.ts';
import type { Marketplace } from '../marketplace.ts';
import { findIn } from '../sandbox-state.ts';
import { type Claim, type SandboxAccount, site, toClaim } from './account.ts';
import { addToken, createAccount } from './account-control.ts';

/** How an agent gets an account, and a person claims it (spec: part A sections 2.2, 4.1 and 5). */
export const authRoutes: readonly Route[] = [
  forAnyone(identity.register, register),
  forAnyone(identity.claim, ({ marketplace, input }) => {
    const { account, claim } = findClaim(marketplace, input.claim_token);
    const user_code = claim.id.slice(-8).toUpperCase();
    return { claim_url: claimUrlOf(account), user_code, expires_at: claim.expiresAt, interval: claim.intervalSeconds };
  }),
  forAnyone(identity.token, poll),
  forAnyone(identity.revoke, ({ marketplace, input }) => {
    const tokens = [...marketplace.state.accounts.values()].flatMap((account) => account.tokens);
    const token = tokens.find(({ value }) => value === input.token);
    // An unknown token is answered in the same way (RFC 7009).
    if (token !== undefined) token.revokedAt ??= marketplace.now();
    return {};
  }),
];

export const authPath = '/api/agent';
const grantType = 'urn:opentrain:agent-auth:grant-type:claim';
/** Before the claim. */
const scopes = ['jobs:read', 'jobs:write', 'proposals:read', 'messages:read', 'payments:read', 'team:read'] as const;
const claimLifeMs = 24 * 3_600_000;

export function claimUrlOf({ id }: SandboxAccount): string {
  return `${site}/claim/${id}`;
}

function register({ marketplace, input }: CallOf<typeof identity.register, AnyCall>) {
  const { ids, now, state } = marketplace;
  const { identity_type = 'anonymous', organization_name: name } = input;
  if (identity_type !== 'anonymous') throw refusalOf('unsupported_identity_type');
  if (state.registrationRefusal !== null) throw refusalOf(state.registrationRefusal);
  const made = createAccount(marketplace, { isClaimed: false, scopes: [...scopes], ownerEmail: null, name });
  const claim = toClaim(ids.next('reg'), ids.nextCredential('ot_clm'), now(claimLifeMs));
  findIn(state.accounts, 'account', made.accountId).claim = claim;
  return {
    identity_type,
    registration_id: claim.id,
    access_token: made.token,
    token_type: 'bearer',
    scopes,
    claim_token: claim.token,
    claim_token_expires_at: claim.expiresAt,
    claim_endpoint: `${marketplace.url}${authPath}/identity/claim`,
    token_endpoint: `${marketplace.url}${authPath}/oauth/token`,
    grant_type: grantType,
  };
}

/** @throws Refusal if the token is unknown, used or expired */
function findClaim({ state, now }: Marketplace, token: string): { account: SandboxAccount; claim: Claim } {
  for (const account of state.accounts.values()) {
    const { claim } = account;
    if (claim?.token !== token) continue;
    if (claim.expiresAt <= now()) throw refusalOf('expired_token');
    return { account, claim };
  }
  throw refusalOf('invalid_grant');
}

/** As RFC 8628: each poll that comes too early adds 5 seconds to the interval. */
function poll({ marketplace, input }: CallOf<typeof identity.token, AnyCall>) {
  if (input.grant_type !== grantType) throw refusalOf('unsupported_grant_type');
  const { account, claim } = findClaim(marketplace, input.claim_token);
  const now = marketplace.now();
  const { lastPolledAt, intervalSeconds } = claim;
  claim.lastPolledAt = now;
  if (lastPolledAt !== null && now < instantAfter(lastPolledAt, intervalSeconds * 1000)) {
    claim.intervalSeconds += 5;
    throw refusalOf('slow_down');
  }
  if (!account.isClaimed) throw refusalOf('authorization_pending');
  // The token comes once.
  account.claim = undefined;
  const { value, scopes } = addToken(marketplace, account, { scopes: [...personalScopes] });
  return { access_token: value, token_type: 'bearer', scopes };
}
