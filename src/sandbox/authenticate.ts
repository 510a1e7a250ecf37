import { AppError } from '../domain/errors.ts';
import { Refusal } from './refusal.ts';
import type { Install, SandboxState, Scope } from './sandbox-state.ts';

/** The install that a bearer token speaks for. 401: the token is not valid; 403: the install is not. */
export function authenticate(state: SandboxState, authorization: string | undefined): Install {
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

export function requireScope(install: Install, scope: Scope): void {
  const granted = install.token.scopes;
  if (granted.some((held) => held === scope || isWriteFor(held, scope))) return;
  const details = { requiredScopes: [scope], grantedScopes: granted };
  throw new Refusal('forbidden', `The token lacks the scope ${scope}`, details);
}

/** `write` implies `read` of the same family. */
function isWriteFor(held: Scope, scope: Scope): boolean {
  return held.endsWith(':write') && held.replace(/:write$/, ':read') === scope;
}
