import { AppError } from '../../domain/errors.ts';
import { openapi } from '../../marketplace/contract/account.ts';
import type { Operation } from '../../marketplace/contract/operation.ts';
import { type AccountCall, type Admitted, forAnyone, type Route, requireScopes } from '../api-router.ts';
import { Refusal, refusalOf } from '../error-response.ts';
import type { Marketplace } from '../marketplace.ts';
import { describeApi } from '../openapi.ts';
import { accountRoutes, isValid } from './account-routes.ts';
import { attachmentRoute } from './attachment-route.ts';
import { changesetRoutes } from './changeset-routes.ts';
import { contractRoutes } from './contract-routes.ts';
import { hiringRoutes } from './hiring-routes.ts';
import { claimUrlOf } from './identity-routes.ts';
import { instructionRoutes } from './instruction-routes.ts';
import { jobRoutes } from './job-routes.ts';
import { messageRoutes } from './message-routes.ts';
import { webhookRoutes } from './webhook-routes.ts';

/** The API for employers. */
export const employerRoutes: readonly Route[] = [
  forAnyone(openapi.get, () => describeApi('API for employers', '/api/public/v1', employerRoutes)),
  ...accountRoutes,
  ...jobRoutes,
  ...hiringRoutes,
  ...contractRoutes,
  ...webhookRoutes,
  ...instructionRoutes,
  ...changesetRoutes,
  ...messageRoutes,
  attachmentRoute,
];

/** The three gates: scope, feature, claim (spec: part A section 5). */
export function admitAccount(
  marketplace: Marketplace,
  authorization: string | undefined,
  operation: Operation,
): Partial<AccountCall> & Admitted {
  const caller = authenticate(marketplace, authorization);
  const { account, scopes } = caller;
  requireScopes(scopes, operation);
  const { feature: featureKey, needsClaim } = operation;
  if (featureKey !== undefined && account.featuresOff.has(featureKey)) {
    throw new Refusal('forbidden', 'The feature is not enabled for this account', { featureKey });
  }
  if (needsClaim && !account.isClaimed) throw refusalOf('account_claim_required', { claimUrl: claimUrlOf(account) });
  return { ...caller, ownerId: account.id };
}

function authenticate(marketplace: Marketplace, authorization: string | undefined): AccountCall {
  const value = /^Bearer (ot_pat_\S+)$/i.exec(authorization ?? '')?.[1];
  const now = marketplace.now();
  for (const account of marketplace.state.accounts.values()) {
    const token = account.tokens.find((one) => one.value === value);
    if (token === undefined) continue;
    if (isValid(token, now)) {
      token.lastUsedAt = now;
      return { marketplace, scopes: token.scopes, account, token };
    }
    token.refused += 1;
  }
  throw new AppError('unauthenticated', 'The token is missing, unknown, expired or revoked');
}
