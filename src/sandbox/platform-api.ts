import { AppError } from '../domain/errors.ts';
import type { Operation } from '../marketplace/contract/operation.ts';
import { installs, platformOpenapi } from '../marketplace/contract/platform.ts';
import { type Admitted, forAnyone, forInstall, type InstallCall, type Route, requireScopes } from './api-router.ts';
import { contractRoutes } from './contract-route.ts';
import type { Marketplace } from './marketplace.ts';
import { describeApi } from './openapi.ts';
import { projectLinkRoutes } from './project-link-route.ts';
import { toPublicInstall } from './public-shapes.ts';
import { webhookEndpointRoutes } from './webhook-endpoint-route.ts';

export const platformRoutes: readonly Route[] = [
  forAnyone(platformOpenapi.get, () => describeApi('Annotation-platform API', '/api/partner/v1', platformRoutes)),
  forInstall(installs.current, ({ install }) => ({ install: toPublicInstall(install) })),
  ...projectLinkRoutes,
  ...contractRoutes,
  ...webhookEndpointRoutes,
];

/** @throws AppError `unauthenticated` for an invalid token, `forbidden` for a revoked install or a missing scope */
export function admitInstall(
  marketplace: Marketplace,
  authorization: string | undefined,
  operation: Operation,
): Partial<InstallCall> & Admitted {
  const value = /^Bearer (ot_ptk_\S+)$/i.exec(authorization ?? '')?.[1];
  const install = [...marketplace.state.installs.values()].find(({ token }) => token.value === value);
  if (install === undefined || install.token.isRevoked) {
    throw new AppError('unauthenticated', 'The token is missing, unknown or revoked');
  }
  if (install.status !== 'ACTIVE') throw new AppError('forbidden', 'The install of this token is not ACTIVE');
  requireScopes(install.token.scopes, operation);
  return { marketplace, ownerId: install.id, scopes: install.token.scopes, install };
}
