import { toInstant } from '../../lib/clock.ts';
import { isGranted } from '../api-router.ts';
import { Refusal } from '../error-response.ts';
import type { PersonalToken, SandboxAccount } from './account.ts';
import { addToken } from './account-control.ts';
import {
  CreatedToken,
  CurrentAccount,
  type EmployerScope,
  employerScopes,
  RevokedToken,
  Tokens,
} from './employer-answer-schema.ts';
import { NewToken } from './employer-request-schema.ts';
import { type EmployerCall, type EmployerRoute, parseFields } from './employer-route.ts';

/** Tokens and the account (spec: part A sections 4.2 and 4.3). They need no scope and no claimed account. */
export const tokenRoutes: readonly EmployerRoute[] = [
  { operation: 'GET /auth/me', answer: CurrentAccount, run: readAccount },
  { operation: 'GET /tokens', answer: Tokens, run: listTokens },
  {
    operation: 'POST /tokens',
    body: NewToken,
    isBodyOptional: true,
    status: 201,
    answer: CreatedToken,
    run: createToken,
  },
  { operation: 'DELETE /tokens/{id}', answer: RevokedToken, run: revokeToken },
];

const tokensPerAccount = 25;

function readAccount({ account, token }: EmployerCall) {
  const actor = {
    userId: account.ownerUserId,
    email: 'employer@example.com',
    firstName: 'Erin',
    lastName: 'Employer',
    fullName: 'Erin Employer',
    userType: 'EMPLOYER',
  };
  return {
    actor,
    token: { id: token.id, label: token.name, scopes: token.scopes, ownerOrganizationId: account.id },
    account: {
      kind: 'employer_organization',
      organizationId: account.id,
      ownerUserId: account.ownerUserId,
      memberRole: 'OWNER',
    },
  };
}

function listTokens({ account }: EmployerCall) {
  return { tokens: account.tokens.map((one) => toRecord(account, one)) };
}

function createToken({ marketplace, account, token, body }: EmployerCall) {
  const { name, scopes = token.scopes, expiresAt = null } = parseFields(NewToken, body ?? {});
  const unknownScopes = scopes.filter((scope) => !(employerScopes as readonly string[]).includes(scope));
  if (unknownScopes.length > 0) {
    throw new Refusal('invalid', 'Unknown scopes', { unknownScopes, supportedScopes: employerScopes });
  }
  const wanted = scopes as EmployerScope[];
  const escalatedScopes = wanted.filter((scope) => !isGranted(token.scopes, scope));
  if (escalatedScopes.length > 0) {
    const details = { requestedScopes: wanted, grantedScopes: token.scopes, escalatedScopes };
    throw new Refusal('forbidden', 'A token never has more scopes than the one that creates it', details);
  }
  const now = toInstant(marketplace.clock.now());
  if (expiresAt !== null && Date.parse(expiresAt) <= Date.parse(now)) {
    throw new Refusal('invalid', 'expiresAt: must be in the future', { field: 'expiresAt' });
  }
  if (account.tokens.filter((one) => isValid(one, now)).length >= tokensPerAccount) {
    throw new Refusal('conflict', `The account has ${tokensPerAccount} active tokens`, { limit: tokensPerAccount });
  }
  const made = addToken(marketplace, account, { name, scopes: wanted, expiresAt });
  return { token: made.value, tokenType: 'bearer', metadata: toRecord(account, made) };
}

function revokeToken({ marketplace, account, id }: EmployerCall) {
  const token = account.tokens.find((one) => one.id === id);
  if (token === undefined) throw new Refusal('not_found', 'There is no such token', { tokenId: id });
  token.revokedAt ??= toInstant(marketplace.clock.now());
  return { token: toRecord(account, token) };
}

export function isValid({ revokedAt, expiresAt }: PersonalToken, now: string): boolean {
  return revokedAt === null && (expiresAt === null || Date.parse(expiresAt) > Date.parse(now));
}

/** An expired token stays `active`, because there is no other status for it. */
export function toRecord(account: SandboxAccount, { value, refused: _, ...token }: PersonalToken) {
  return {
    ...token,
    preview: `${value.slice(0, 10)}…`,
    status: token.revokedAt === null ? 'active' : 'revoked',
    organizationId: account.id,
  };
}
