import { AppError } from '../../domain/errors.ts';
import { toInstant } from '../../lib/clock.ts';
import { requireScope } from '../api-router.ts';
import { Refusal } from '../error-response.ts';
import type { Marketplace } from '../marketplace.ts';
import type { SandboxAccount } from './account.ts';
import { contractRoutes } from './contract-routes.ts';
import type { EmployerCaller, EmployerRoute } from './employer-route.ts';
import { instructionRoutes } from './instruction-routes.ts';
import { isValid, tokenRoutes } from './token-routes.ts';
import { webhookRoutes } from './webhook-routes.ts';

/** The operations that need a personal token. */
export const employerRoutes: readonly EmployerRoute[] = [
  ...tokenRoutes,
  ...contractRoutes,
  ...webhookRoutes,
  ...instructionRoutes,
];

/** The three gates: scope, feature, claim (spec: part A section 5). */
export function admitAccount(
  marketplace: Marketplace,
  authorization: string | undefined,
  { scopes, feature, needsClaim }: EmployerRoute,
): EmployerCaller {
  const caller = authenticate(marketplace, authorization);
  requireScope(caller.scopes, scopes);
  requireFeature(caller.account, feature);
  if (needsClaim === true) requireClaim(caller.account);
  return caller;
}

function authenticate({ state, clock }: Marketplace, authorization: string | undefined): EmployerCaller {
  const value = /^Bearer (ot_pat_\S+)$/i.exec(authorization ?? '')?.[1];
  const now = toInstant(clock.now());
  for (const account of state.accounts.values()) {
    const token = account.tokens.find((one) => one.value === value);
    if (token === undefined) continue;
    if (isValid(token, now)) {
      token.lastUsedAt = now;
      return { ownerId: account.id, scopes: token.scopes, account, token };
    }
    token.refused += 1;
  }
  throw new AppError('unauthenticated', 'The token is missing, unknown, expired or revoked');
}

function requireFeature({ featuresOff }: SandboxAccount, featureKey: string | undefined): void {
  if (featureKey === undefined || !featuresOff.has(featureKey)) return;
  throw new Refusal('forbidden', 'The feature is not enabled for this account', { featureKey });
}

function requireClaim({ id, isClaimed }: SandboxAccount): void {
  if (isClaimed) return;
  const details = { reason: 'account_claim_required', claimUrl: `https://app.opentrain.ai/claim/${id}` };
  throw new Refusal('forbidden', 'The account must be claimed first', details);
}
