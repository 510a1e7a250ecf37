import { AppError } from '../domain/errors.ts';
import { toInstant } from '../lib/clock.ts';
import type { NewInstall } from './control-request-schema.ts';
import type { Marketplace } from './marketplace.ts';
import { toRevokedOccurrence } from './occurrences.ts';
import { type SandboxInstall, type SandboxState, scopes } from './sandbox-state.ts';

/** What customers do with an install: they connect, give consent, disconnect and connect again. */

export interface CreatedInstall {
  installId: string;
  organizationId: string;
  /** The platform token, which is shown only here. */
  token: string;
}

export interface Reconnection extends CreatedInstall {
  revokedInstallId: string;
}

export function createInstall({ state, ids, clock }: Marketplace, wanted: NewInstall = {}): CreatedInstall {
  const granted = wanted.scopes ?? [...scopes];
  const value = ids.nextCredential('ot_ptk');
  const install: SandboxInstall = {
    id: ids.next('ins'),
    status: 'ACTIVE',
    organizationId: wanted.organizationId ?? ids.next('org'),
    scopes: granted,
    piiConsent: wanted.piiConsent ?? true,
    createdAt: toInstant(clock.now()),
    token: {
      id: ids.next('tok'),
      name: 'sandbox',
      value,
      scopes: wanted.tokenScopes ?? granted,
      isRevoked: false,
    },
  };
  state.installs.set(install.id, install);
  return { installId: install.id, organizationId: install.organizationId, token: value };
}

/** Work addresses appear or disappear with it. No event says this. */
export function setPiiConsent({ state }: Marketplace, installId: string, piiConsent: boolean): void {
  findInstall(state, installId).piiConsent = piiConsent;
}

/** The customer disconnects. From then on calls with the token are answered 403. */
export function revokeInstall({ state, raiseEvents }: Marketplace, installId: string): void {
  const install = findInstall(state, installId);
  if (install.status === 'REVOKED') throw new AppError('conflict', 'The install is revoked already');
  install.status = 'REVOKED';
  raiseEvents([toRevokedOccurrence(install)]);
}

/** The install stays ACTIVE, but calls with its token are answered 401. No event says this. */
export function revokeToken({ state }: Marketplace, installId: string): void {
  findInstall(state, installId).token.isRevoked = true;
}

/** Creates a new install of the same employer. Links and endpoints stay with the old one. */
export function reconnect(marketplace: Marketplace, installId: string): Reconnection {
  const { organizationId, scopes: granted, piiConsent, token } = findInstall(marketplace.state, installId);
  revokeInstall(marketplace, installId);
  revokeToken(marketplace, installId);
  const tokenScopes = token.scopes;
  const wanted = { organizationId, scopes: granted, tokenScopes, piiConsent };
  return { ...createInstall(marketplace, wanted), revokedInstallId: installId };
}

export function findInstall(state: SandboxState, installId: string): SandboxInstall {
  const install = state.installs.get(installId);
  if (install === undefined) throw new AppError('not_found', `No install ${installId}`);
  return install;
}
