import express, { type RequestHandler, type Router } from 'express';
import { AppError } from '../domain/errors.ts';
import { contractRoutes } from './contract-route.ts';
import { Refusal } from './error-response.ts';
import { type ApiFaults, createApiFaults } from './faults/api-faults.ts';
import type { Marketplace } from './marketplace.ts';
import { describePlatformApi } from './openapi.ts';
import type { PlatformRoute } from './platform-route.ts';
import { projectLinkRoutes } from './project-link-route.ts';
import { toPublicInstall } from './public-shapes.ts';
import { nameRequest, readJson } from './requests.ts';
import type { SandboxInstall, SandboxState, Scope } from './sandbox-state.ts';
import { usageRoute } from './usage-route.ts';
import { webhookEndpointRoutes } from './webhook-endpoint-route.ts';

const installRoute: PlatformRoute = {
  method: 'get',
  path: '/installs/current',
  answer: ({ install }) => ({ install: toPublicInstall(install) }),
};

/** The fifteen operations that need a token. */
export const platformRoutes: readonly PlatformRoute[] = [
  installRoute,
  ...projectLinkRoutes,
  ...contractRoutes,
  usageRoute,
  ...webhookEndpointRoutes,
];

export function createPlatformRouter(marketplace: Marketplace): Router {
  const router = express.Router();
  router.use(nameRequest);
  const faults = createApiFaults(marketplace.dice);
  router.get('/openapi.json', (_request, response) => {
    response.json(describePlatformApi(marketplace.hasCursors));
  });
  for (const route of platformRoutes) {
    const path = route.path.replace('{id}', ':id');
    router[route.method](
      path,
      admit(marketplace, route),
      faults.meetCalls(route),
      readJson,
      answer(marketplace, route, faults),
    );
  }
  router.use(() => {
    throw new AppError('not_found', 'The platform API has no such operation');
  });
  return router;
}

/** This comes before the body is read: a caller without the right to call learns nothing about the body. */
function admit({ state }: Marketplace, { scope }: PlatformRoute): RequestHandler {
  return (request, response, next) => {
    const install = authenticate(state, request.headers.authorization);
    if (scope !== undefined) requireScope(install, scope);
    response.locals['install'] = install;
    next();
  };
}

/** @throws AppError `unauthenticated` if the token is not valid, `forbidden` if its install is not */
function authenticate(state: SandboxState, authorization: string | undefined): SandboxInstall {
  const token = /^Bearer (ot_ptk_\S+)$/i.exec(authorization ?? '')?.[1];
  if (token === undefined) {
    throw new AppError('unauthenticated', 'A bearer token that begins with ot_ptk_ is required');
  }
  const install = [...state.installs.values()].find(({ token: { value } }) => value === token);
  if (install === undefined || install.token.isRevoked) {
    throw new AppError('unauthenticated', 'The token is unknown or was revoked');
  }
  if (install.status !== 'ACTIVE') {
    throw new AppError('forbidden', 'The install of this token is not ACTIVE');
  }
  return install;
}

function requireScope(install: SandboxInstall, scope: Scope): void {
  const granted = install.token.scopes;
  if (granted.some((held) => held === scope || isWriteFor(held, scope))) return;
  const details = { requiredScopes: [scope], grantedScopes: granted };
  throw new Refusal('forbidden', `The token lacks the scope ${scope}`, details);
}

/** `write` includes `read` of the same family. */
function isWriteFor(held: Scope, scope: Scope): boolean {
  return held.endsWith(':write') && held.replace(/:write$/, ':read') === scope;
}

function answer(marketplace: Marketplace, route: PlatformRoute, faults: ApiFaults): RequestHandler {
  return (request, response) => {
    const install = response.locals['install'] as SandboxInstall;
    const { id = '' } = request.params;
    const { query, body } = request;
    const result = route.answer({ marketplace, install, id: String(id), query, body });
    faults.sendAnswer(response, route.status ?? 200, result);
  };
}
