import { z } from 'zod';
import { family, op } from './operation.ts';
import { OpenapiDocument } from './records.ts';
import { instant } from './requests.ts';
import { fields, pageOf, words } from './shapes.ts';
import { Email, Id, Instant, NullableId, Secret, Text, Words } from './values.ts';

/** Identity, tokens and the account (spec: part A sections 2.1, 2.2, 4.1, 4.2, 4.3). */

/** Part A section 5 and part B section 5, with those of employer-api.md. */
export const personalScopes = [
  'jobs:read',
  'jobs:write',
  'proposals:read',
  'proposals:write',
  'messages:read',
  'messages:write',
  'payments:read',
  'payments:write',
  'team:read',
  'team:write',
  'webhooks:manage',
  'participant_work_email:read',
  'instructions:read',
  'instructions:write',
  'instructions:propose',
  'instructions:review',
  'instructions:publish',
] as const;

/** Whether a scope is granted. The right to write includes the right to read. */
export function isGranted(granted: readonly string[], scope: string): boolean {
  return granted.includes(scope) || granted.includes(scope.replace(/:read$/, ':write'));
}

const text = z.string().min(1).max(200).optional();

const ofClaim = ['invalid_grant', 'expired_token', 'invalid_request'] as const;
const claimToken = z.string().meta({ format: 'secret' });
export const identity = family('identity', { section: 'A 4.1', api: 'auth', credential: 'none', errors: 'oauth' })({
  register: op('POST /identity', 'register an agent', {
    in: z.object({ identity_type: text, agent_name: text, organization_name: text }),
    out: z.object({
      identity_type: words('anonymous'),
      registration_id: Id,
      access_token: Secret,
      token_type: words('bearer'),
      scopes: Words,
      claim_token: Secret,
      claim_token_expires_at: Instant,
      claim_endpoint: Text,
      token_endpoint: Text,
      grant_type: z.string(),
    }),
    idempotency: 'none',
    limits: ['A claim token lives 24 hours.'],
    reasons: ['unsupported_identity_type', 'anonymous_not_enabled', 'rate_limit_exceeded'],
  }),
  claim: op('POST /identity/claim', 'start the claim of an account', {
    credential: 'claim',
    in: z.object({ claim_token: claimToken }),
    out: z.object({ claim_url: z.url(), user_code: Text, expires_at: Instant, interval: z.number().catch(5) }),
    reasons: ofClaim,
    assumed: 'As RFC 8628: claim_url, user_code, expires_at and the interval of polls in seconds.',
  }),
  // Repeated until it answers with the token, which it does once.
  token: op('POST /oauth/token', 'poll for the token after the claim', {
    credential: 'claim',
    in: z.object({ grant_type: z.string(), claim_token: claimToken }),
    out: z.object({ access_token: Secret, token_type: words('bearer'), scopes: Words }),
    reasons: ['authorization_pending', 'slow_down', ...ofClaim, 'unsupported_grant_type'],
    assumed: 'The errors of RFC 8628; the token comes once.',
  }),
  revoke: op('POST /identity/revoke', 'revoke a token by presenting it', {
    in: z.object({ token: z.string() }),
    reasons: ['invalid_request'],
    isFinal: true,
    own: 'gangway token',
    assumed: 'RFC 7009: always 200, also for an unknown token.',
  }),
});

/** Without its secret. */
export const Token = z.object({
  id: Id,
  name: Text,
  scopes: Words,
  /** Assumed: it stays `active` when it expires, or becomes `expired`. */
  status: words('active', 'revoked'),
  preview: Text,
  organizationId: NullableId,
  ...fields(Instant, 'createdAt', 'lastUsedAt', 'expiresAt', 'revokedAt'),
});
export type Token = z.infer<typeof Token>;

export const tokens = family('tokens', { section: 'A 4.2', own: 'gangway token rotate' })({
  list: op('GET /tokens', 'list the tokens', { out: pageOf('tokens', Token) }),
  create: op('POST /tokens', 'create a token', {
    in: z.object({
      name: z.string().min(1).max(120).optional(),
      scopes: z.array(z.string()).optional(),
      expiresAt: instant.nullish(),
    }),
    out: z.object({ token: Secret, tokenType: words('bearer').optional(), metadata: Token }),
    status: 201,
    limits: ['25 active tokens', 'a name of 120 characters'],
    refusals: [409],
  }),
  revoke: op('DELETE /tokens/{tokenId}', 'revoke a token', { out: z.object({ token: Token }) }),
});

export const account = family('account', { section: 'A 4.3' })({
  me: op('GET /auth/me', 'read the account', {
    out: z.object({
      actor: z.object({ userId: Id, email: Email, firstName: Text, lastName: Text, fullName: Text, userType: Text }),
      token: z.object({ id: NullableId, label: Text, scopes: Words, ownerOrganizationId: NullableId }),
      account: z.object({ kind: Text, organizationId: NullableId, ownerUserId: NullableId, memberRole: Text }),
    }),
    refusals: [404],
  }),
});

export const openapi = family('openapi', { section: 'A 9', credential: 'none' })({
  get: op('GET /openapi.json', 'read the description of the API', { out: OpenapiDocument }),
});

export const team = family('team', { section: 'A 4.8', scopes: ['team:read'], feature: 'public_api_team' })({
  get: op('GET /team', 'read the team', {
    out: z.object({
      team: z.object({
        organization: z.object({ id: Id, name: Text, ownerUserId: NullableId, ownerName: Text }),
        members: z.array(
          z.object({ userId: Id, role: words('OWNER', 'MEMBER'), name: Text, email: Text, joinedAt: Instant }),
        ),
        invites: z.array(z.object({ id: Id, email: Text, createdAt: Instant, expiresAt: Instant })),
      }),
    }),
    reasons: ['teams_not_enabled'],
  }),
  invite: op('POST /team/invites', 'invite a person to the team', {
    scopes: ['team:write'],
    in: z.object({ email: z.email() }),
    out: z.object({ status: words('invite_created', 'member_added', 'already_member') }),
    needsClaim: true,
    reasons: ['teams_not_enabled', 'invite_email_send_failed'],
    assumed: 'The body {email}, the scope team:write, and that the account must be claimed.',
  }),
});
