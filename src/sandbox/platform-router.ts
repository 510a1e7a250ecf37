import type { Router } from 'express';
import { AppError } from '../domain/errors.ts';
import { createApiRouter, readBearer, requireOneScope } from './api-router.ts';
import { contractRoutes } from './contract-route.ts';
import type { Marketplace } from './marketplace.ts';
import { describePlatformApi } from './openapi.ts';
import type { PlatformRoute } from './platform-route.ts';
import { projectLinkRoutes } from './project-link-route.ts';
import { toPublicInstall } from './public-shapes.ts';
import type { SandboxInstall, SandboxState } from './sandbox-state.ts';
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
  return createApiRouter(marketplace.dice, {
    name: 'platform API',
    routes: platformRoutes,
    describe: () => describePlatformApi(marketplace.hasCursors),
    admit({ scope }, authorization) {
      const install = authenticate(marketplace.state, authorization);
      if (scope !== undefined) requireOneScope(install.token.scopes, [scope]);
      return install;
    },
    answer: (route, install, { params: { id = '' }, query, body }) => ({
      status: route.status ?? 200,
      body: route.answer({ marketplace, install, id, query, body }),
    }),
  });
}

/** @throws AppError `unauthenticated` if the token is not valid, `forbidden` if its install is not */
function authenticate(state: SandboxState, authorization: string | undefined): SandboxInstall {
  const token = readBearer(authorization, 'ot_ptk_');
  const install = [...state.installs.values()].find(({ token: { value } }) => value === token);
  if (install === undefined || install.token.isRevoked) {
    throw new AppError('unauthenticated', 'The token is unknown or was revoked');
  }
  if (install.status !== 'ACTIVE') {
    throw new AppError('forbidden', 'The install of this token is not ACTIVE');
  }
  return install;
}
