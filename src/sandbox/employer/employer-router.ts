import express, { type RequestHandler, type Router } from 'express';
import { AppError } from '../../domain/errors.ts';
import { toInstant } from '../../lib/clock.ts';
import { Refusal } from '../error-response.ts';
import { type ApiFaults, createApiFaults } from '../faults/api-faults.ts';
import type { Marketplace } from '../marketplace.ts';
import { nameRequest, readJson } from '../requests.ts';
import type { PersonalToken, SandboxAccount } from './account.ts';
import { contractRoutes } from './contract-routes.ts';
import { type EmployerCall, type EmployerRoute, isGranted } from './employer-route.ts';
import { instructionRoutes } from './instruction-routes.ts';
import { jobsRoute } from './jobs-route.ts';
import { describeEmployerApi } from './openapi.ts';
import { paymentRoute } from './payment-route.ts';
import { isValid, tokenRoutes } from './token-routes.ts';
import { webhookRoutes } from './webhook-routes.ts';

/** All that need a token. */
export const employerRoutes: readonly EmployerRoute[] = [
  ...tokenRoutes,
  jobsRoute,
  ...contractRoutes,
  paymentRoute,
  ...webhookRoutes,
  ...instructionRoutes,
];

type Caller = Pick<EmployerCall, 'account' | 'token'>;

/** The API for employers, for personal tokens. */
export function createEmployerRouter(marketplace: Marketplace): Router {
  const router = express.Router();
  router.use(nameRequest);
  const faults = createApiFaults(marketplace.dice);
  router.get('/openapi.json', (_request, response) => {
    response.json(describeEmployerApi());
  });
  for (const route of employerRoutes) {
    const path = route.path.replace('{id}', ':id').replace('{number}', ':number');
    router[route.method](
      path,
      admit(marketplace, route),
      faults.meetCalls(route),
      readJson,
      answer(marketplace, route, faults),
    );
  }
  router.use(() => {
    throw new AppError('not_found', 'The API has no such operation');
  });
  return router;
}

/** The three gates: scope, feature, claim (spec: part A section 5). */
function admit(marketplace: Marketplace, route: EmployerRoute): RequestHandler {
  return (request, response, next) => {
    const caller = authenticate(marketplace, request.headers.authorization);
    requireScope(caller.token, route.scopes);
    requireFeature(caller.account, route.feature);
    if (route.needsClaim === true) requireClaim(caller.account);
    response.locals['caller'] = caller;
    response.locals['install'] = caller.account;
    next();
  };
}

function authenticate({ state, clock }: Marketplace, authorization: string | undefined): Caller {
  const value = /^Bearer (ot_pat_\S+)$/i.exec(authorization ?? '')?.[1];
  const now = toInstant(clock.now());
  for (const account of state.accounts.values()) {
    const token = account.tokens.find((one) => one.value === value);
    if (token === undefined) continue;
    if (isValid(token, now)) {
      token.lastUsedAt = now;
      return { account, token };
    }
    token.refused += 1;
  }
  throw new AppError('unauthenticated', 'The token is missing, unknown, expired or revoked');
}

function requireScope(token: PersonalToken, scopes: EmployerRoute['scopes']): void {
  if (scopes === undefined || scopes.some((scope) => isGranted(token, scope))) return;
  const details = { requiredScopes: scopes, grantedScopes: token.scopes };
  throw new Refusal('forbidden', `The token lacks the scope ${scopes.join(' or ')}`, details);
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

function answer(marketplace: Marketplace, route: EmployerRoute, faults: ApiFaults): RequestHandler {
  return (request, response) => {
    const caller = response.locals['caller'] as Caller;
    const { id = '', number = '' } = request.params;
    const { query, body } = request;
    const named = { id: String(id), number: String(number) };
    const { status = 200, body: answered } = route.answer({ marketplace, ...caller, ...named, query, body });
    faults.sendAnswer(response, status, answered);
  };
}
