import { AppError } from '../domain/errors.ts';
import { platformScopes } from '../marketplace/contract/platform.ts';
import type { Marketplace } from './marketplace.ts';
import type { Wanted } from './parse-request.ts';
import { raiseRevokedEvent } from './raise-events.ts';
import { findIn, type SandboxInstall } from './sandbox-state.ts';

/** Customers connect an install, give consent, disconnect and reconnect. */

/** The answer has the platform token, which is shown only here. */
export function createInstall({ state, ids, now }: Marketplace, wanted: Wanted<'NewInstall'> = {}) {
  const granted = wanted.scopes ?? [...platformScopes];
  const value = ids.nextCredential('ot_ptk');
  const install: SandboxInstall = {
    id: ids.next('ins'),
    status: 'ACTIVE',
    organizationId: wanted.organizationId ?? ids.next('org'),
    scopes: granted,
    piiConsent: wanted.piiConsent ?? true,
    createdAt: now(),
    token: { id: ids.next('tok'), name: 'sandbox', value, scopes: wanted.tokenScopes ?? granted, isRevoked: false },
  };
  state.installs.set(install.id, install);
  return { installId: install.id, organizationId: install.organizationId, token: value };
}

/** Work addresses appear or disappear, without an event. */
export function setPiiConsent({ state }: Marketplace, installId: string, piiConsent: boolean) {
  findIn(state.installs, 'install', installId).piiConsent = piiConsent;
  return { installId, piiConsent };
}

/** The customer disconnects. From then on calls with the token are answered 403. */
export function revokeInstall(marketplace: Marketplace, installId: string) {
  const install = findIn(marketplace.state.installs, 'install', installId);
  if (install.status === 'REVOKED') throw new AppError('conflict', 'The install is already revoked');
  install.status = 'REVOKED';
  raiseRevokedEvent(marketplace, install);
  return { installId, status: install.status };
}

/** The install stays ACTIVE, but calls with its token are answered 401, without an event. */
export function revokeToken({ state }: Marketplace, installId: string) {
  findIn(state.installs, 'install', installId).token.isRevoked = true;
  return { installId, token: 'revoked' };
}

/** Creates a new install of the same employer. Links and endpoints stay with the old one. */
export function reconnect(marketplace: Marketplace, installId: string) {
  const { organizationId, scopes, piiConsent, token } = findIn(marketplace.state.installs, 'install', installId);
  revokeInstall(marketplace, installId);
  revokeToken(marketplace, installId);
  const wanted = { organizationId, scopes, tokenScopes: token.scopes, piiConsent };
  return { ...createInstall(marketplace, wanted), revokedInstallId: installId };
}
