import { randomUUID } from 'node:crypto';
import express, { type RequestHandler, type Router } from 'express';
import { AppError } from '../domain/errors.ts';
import { authenticate, requireScope } from './authenticate.ts';
import { contractRoutes } from './contract-route.ts';
import { requestIdHeader } from './error-response.ts';
import { type ApiFaults, createApiFaults } from './faults/api-faults.ts';
import { installRoutes } from './install-route.ts';
import type { Marketplace } from './marketplace.ts';
import { describePlatformApi } from './openapi.ts';
import type { PlatformRoute } from './platform-route.ts';
import { projectLinkRoutes } from './project-link-route.ts';
import type { Install } from './sandbox-state.ts';
import { usageRoutes } from './usage-route.ts';
import { webhookEndpointRoutes } from './webhook-endpoint-route.ts';

/** The fifteen operations that need a token. */
export const platformRoutes: readonly PlatformRoute[] = [
  ...installRoutes,
  ...projectLinkRoutes,
  ...contractRoutes,
  ...usageRoutes,
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

/** To be quoted to support. Refusals say it in their body too. */
const nameRequest: RequestHandler = (_request, response, next) => {
  response.setHeader(requestIdHeader, `req_${randomUUID()}`);
  next();
};

/** Whatever is sent as a body is taken for JSON. */
const readJson = express.json({ type: () => true, strict: false, limit: '1mb' });

/** Before the body is read: who may not call is not told what is wrong with the call. */
function admit({ state }: Marketplace, { scope }: PlatformRoute): RequestHandler {
  return (request, response, next) => {
    const install = authenticate(state, request.headers.authorization);
    if (scope !== undefined) requireScope(install, scope);
    response.locals['install'] = install;
    next();
  };
}

function answer(marketplace: Marketplace, route: PlatformRoute, faults: ApiFaults): RequestHandler {
  return (request, response) => {
    const install = response.locals['install'] as Install;
    const { id = '' } = request.params;
    const { query, body } = request;
    const result = route.answer({ marketplace, install, id: String(id), query, body });
    faults.sendAnswer(response, route.status ?? 200, result);
  };
}
