import { isGranted, account as me, personalScopes, team, tokens } from '../../marketplace/contract/account.ts';
import { type AccountCall, type CallOf, forAccount, type Route } from '../api-router.ts';
import { Refusal, refusalOf } from '../error-response.ts';
import type { PersonalToken, SandboxAccount } from './account.ts';
import { addToken } from './account-control.ts';
import { refuse } from './employer-route.ts';

/** The account, its tokens, which need no scope, and the people of the employer (spec: part A sections 4.2, 4.3, 4.8). */
export const accountRoutes: readonly Route[] = [
  forAccount(me.me, readAccount),
  forAccount(tokens.list, ({ account }) => ({ tokens: account.tokens.map((one) => toRecord(account, one)) })),
  forAccount(tokens.create, createToken),
  forAccount(tokens.revoke, ({ marketplace, account, input: { tokenId } }) => {
    const token = account.tokens.find((one) => one.id === tokenId) ?? refuse('tokens', { tokenId });
    token.revokedAt ??= marketplace.now();
    return { token: toRecord(account, token) };
  }),

  forAccount(team.get, ({ account }) => {
    requireTeam(account);
    const { id, name, ownerUserId, members, teamInvites: invites } = account;
    return { team: { organization: { id, name, ownerUserId, ownerName: members[0].name }, members, invites } };
  }),
  forAccount(team.invite, invite),
];

const tokensPerAccount = 25;

function readAccount({ account, token }: AccountCall) {
  const { id: organizationId, ownerUserId, members } = account;
  const [{ userId, name: fullName, email }] = members;
  const [firstName, lastName] = fullName?.split(' ') ?? [];
  return {
    actor: { userId, email, firstName, lastName, fullName, userType: 'EMPLOYER' },
    token: { id: token.id, label: token.name, scopes: token.scopes, ownerOrganizationId: organizationId },
    account: { kind: 'employer_organization', organizationId, ownerUserId, memberRole: 'OWNER' },
  };
}

function createToken({ marketplace, account, token, input }: CallOf<typeof tokens.create>) {
  const { name, scopes: wanted = token.scopes, expiresAt = null } = input;
  const unknownScopes = wanted.filter((scope) => !(personalScopes as readonly string[]).includes(scope));
  if (unknownScopes.length > 0) {
    throw new Refusal('invalid', 'Unknown scopes', { unknownScopes, supportedScopes: personalScopes });
  }
  const escalatedScopes = wanted.filter((scope) => !isGranted(token.scopes, scope));
  if (escalatedScopes.length > 0) {
    const details = { requestedScopes: wanted, grantedScopes: token.scopes, escalatedScopes };
    throw new Refusal('forbidden', 'A token never has more scopes than the one that creates it', details);
  }
  const now = marketplace.now();
  if (expiresAt !== null && Date.parse(expiresAt) <= Date.parse(now)) {
    throw new Refusal('invalid', 'expiresAt: must be in the future', { field: 'expiresAt' });
  }
  if (account.tokens.filter((one) => isValid(one, now)).length >= tokensPerAccount) {
    throw new Refusal('conflict', `The account has ${tokensPerAccount} active tokens`, { limit: tokensPerAccount });
  }
  const made = addToken(marketplace, account, { ...(name && { name }), scopes: wanted, expiresAt });
  return { token: made.value, tokenType: 'bearer', metadata: toRecord(account, made) };
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

function requireTeam({ hasTeam }: SandboxAccount): void {
  if (!hasTeam) throw refusalOf('teams_not_enabled');
}

const inviteLifeMs = 7 * 24 * 3_600_000;

/** Assumed: who has an account of their own is a member at once. */
function invite({ marketplace, account, input: { email } }: CallOf<typeof team.invite>) {
  const { state, ids, now } = marketplace;
  const { members, teamInvites } = account;
  requireTeam(account);
  if (members.some((one) => one.email === email)) return { status: 'already_member' };
  const owners = [...state.accounts.values()].map((one) => one.members[0]);
  const known = owners.find((one) => one.email === email);
  if (known !== undefined) {
    members.push({ ...known, role: 'MEMBER', joinedAt: now() });
    return { status: 'member_added' };
  }
  // No mail reaches this domain (RFC 2606).
  if (email.endsWith('.invalid')) throw refusalOf('invite_email_send_failed');
  if (!teamInvites.some((one) => one.email === email)) {
    const createdAt = now();
    teamInvites.push({ id: ids.next('tinv'), email, createdAt, expiresAt: now(inviteLifeMs) });
  }
  return { status: 'invite_created' };
}
