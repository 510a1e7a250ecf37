import { AppError } from '../domain/errors.ts';
import { requireScope } from './api-router.ts';
import { contractRoutes } from './contract-route.ts';
import type { Marketplace } from './marketplace.ts';
import { CurrentInstall } from './platform-answer-schema.ts';
import type { PlatformCaller, PlatformRoute } from './platform-route.ts';
import { projectLinkRoutes } from './project-link-route.ts';
import { toPublicInstall } from './public-shapes.ts';
import { webhookEndpointRoutes } from './webhook-endpoint-route.ts';

const installRoute: PlatformRoute = {
  operation: 'GET /installs/current',
  answer: CurrentInstall,
  run: ({ install }) => ({ install: toPublicInstall(install) }),
};

/** The operations that need a token. */
export const platformRoutes: readonly PlatformRoute[] = [
  installRoute,
  ...projectLinkRoutes,
  ...contractRoutes,
  ...webhookEndpointRoutes,
];

/** @throws AppError `unauthenticated` for an invalid token, `forbidden` for a revoked install or a missing scope */
export function admitInstall(
  { state }: Marketplace,
  authorization: string | undefined,
  { scopes }: PlatformRoute,
): PlatformCaller {
  const value = /^Bearer (ot_ptk_\S+)$/i.exec(authorization ?? '')?.[1];
  if (value === undefined) {
    throw new AppError('unauthenticated', 'A bearer token that begins with ot_ptk_ is required');
  }
  const install = [...state.installs.values()].find(({ token }) => token.value === value);
  if (install === undefined || install.token.isRevoked) {
    throw new AppError('unauthenticated', 'The token is unknown or was revoked');
  }
  if (install.status !== 'ACTIVE') {
    throw new AppError('forbidden', 'The install of this token is not ACTIVE');
  }
  requireScope(install.token.scopes, scopes);
  return { ownerId: install.id, scopes: install.token.scopes, install };
}
