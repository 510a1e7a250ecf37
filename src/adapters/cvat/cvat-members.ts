import { AppError } from '../../domain/errors.ts';
import { statusOf } from '../../lib/rest-client.ts';
import { isSameAddress } from '../../lib/text.ts';
import type { Added, Invitation, Member, Person } from '../adapter.ts';
import { unless } from '../tool-request.ts';
import { type Cvat, isExactly, type ListCall, listAll, withQuery } from './cvat-api.ts';
import { CvatInvitation, type Membership, Memberships, toOrganization, Users } from './cvat-schema.ts';

/**
 * The members of an organization. CVAT shows no addresses. A person who was invited without an account has their address
 * as name until they register. All others are known by the id of their account, which was in the answer to the
 * invitation. Users may take anyone's address as their name, so the name of a registered member proves nothing.
 */

/** A membership whose account still exists. */
type CvatMember = Membership & { user: NonNullable<Membership['user']> };

export async function findCvatMember(
  cvat: Cvat,
  groupId: string,
  { memberId, email }: Person,
): Promise<CvatMember | null> {
  const known = memberId === null ? null : await findById(cvat, groupId, { id: memberId, email });
  if (known !== null) return known;
  const named = await findByName(cvat, groupId, email);
  return named.find(({ is_active }) => !is_active) ?? null;
}

/** CVAT finds a membership only by the name of the account, which can change, so the account is read first. */
export async function findById(cvat: Cvat, groupId: string, { id, email }: Member): Promise<CvatMember | null> {
  const org = toOrganization(groupId);
  if (!/^\d{1,15}$/.test(id)) return null;
  const filters = [isExactly('id', Number(id))];
  const secrets = secretsOf(email);
  const call = { path: '/api/users', query: { org }, filters, purpose: 'find the account', secrets };
  for await (const user of listAll(cvat, Users, call)) {
    const named = listCvatMembers(cvat, groupId, { filters: [isExactly('user', user.username)], secrets });
    for await (const found of named) if (String(found.user.id) === id) return found;
  }
  return null;
}

/** `search` finds any part of a name and ignores case. An exact filter would be case-sensitive. */
async function findByName(cvat: Cvat, groupId: string, email: string): Promise<CvatMember[]> {
  const which = { query: { search: email.toLowerCase() }, secrets: [email] };
  const named = await Array.fromAsync(listCvatMembers(cvat, groupId, which));
  return named.filter(({ user }) => isSameAddress(user.username, email));
}

/** Whether a registered member has this address as their name. */
async function isNameTaken(cvat: Cvat, groupId: string, email: string): Promise<boolean> {
  return (await findByName(cvat, groupId, email)).some(({ is_active }) => is_active);
}

export async function* listCvatMembers(
  cvat: Cvat,
  groupId: string,
  { query, ...call }: Pick<ListCall, 'query' | 'filters' | 'secrets'> = {},
): AsyncGenerator<CvatMember> {
  const request = { path: '/api/memberships', purpose: 'list the members', ...call };
  const members = listAll(cvat, Memberships, { ...request, query: { org: toOrganization(groupId), ...query } });
  for await (const { user, ...found } of members) if (user !== null) yield { ...found, user };
}

/**
 * Removes a member from an organization, which locks them out at once. Only accounts in the server's group `worker` can
 * still open what is assigned to them (`endAssignments`).
 */
export async function removeMember(cvat: Cvat, groupId: string, member: Member): Promise<void> {
  const found = await findById(cvat, groupId, member);
  if (found === null) return;
  const { role, user } = found;
  const secrets = [user.username, ...secretsOf(member.email)];
  // CVAT deletes the invitation too, accepted or not.
  const call = { path: `/api/memberships/${found.id}`, purpose: 'remove the member', secrets };
  try {
    await unless([404], cvat.api.call({ ...call, method: 'DELETE' }));
  } catch (error) {
    // Not `forbidden`: the refusal concerns only this owner or maintainer, not other members.
    if (statusOf(error) !== 403 || !['owner', 'maintainer'].includes(role)) throw error;
    throw new AppError(
      'conflict',
      `Could not remove the member: they are ${role} of the organization, and the token may not remove those. Make them a worker in CVAT first`,
      { status: 403 },
    );
  }
}

/** Texts that errors must not quote. */
export function secretsOf(email: string | null): string[] {
  return email === null ? [] : [email];
}

/** How much the clocks of CVAT and this machine may differ. */
const clockMarginMs = 3_600_000;

/** Whether a call made at or after `since` may have let the member in, or may still do so. */
export function isNewcomer({ is_active, joined_date, role, invitation }: CvatMember, since: string): boolean {
  if (role === 'owner') return false;
  if (!is_active) return invitation !== null;
  const joinedMs = Date.parse(joined_date ?? '');
  return Number.isNaN(joinedMs) || joinedMs >= Date.parse(since) - clockMarginMs;
}

/** Only an invited person has their address as name. */
export function toMember({ user, is_active }: CvatMember): Member {
  const isAddress = user.username.includes('@');
  return {
    id: String(user.id),
    email: !is_active && isAddress ? user.username : null,
    name: user.username,
    ...(!is_active && { isInvited: true }),
  };
}

/** How long an invitation is valid by default. A server may be configured differently. */
const expiryMs = 7 * 86_400_000;

export async function inviteMember(cvat: Cvat, groupId: string, person: Person): Promise<Added> {
  const path = withQuery('/api/invitations', { org: toOrganization(groupId) });
  // The address becomes the name of a new account, and names are case-sensitive.
  const email = person.email.toLowerCase();
  const body = { email, role: cvat.settings.role };
  const call = { path, body, purpose: 'invite the member', secrets: [email, person.email] };
  try {
    const sent = await cvat.api.call({ ...call, method: 'POST', answer: CvatInvitation });
    return await toAdded(cvat, groupId, { sent, email });
  } catch (error) {
    if (!mayBeThere(error)) throw error;
    const found = await findCvatMember(cvat, groupId, person);
    if (found === null) throw toRefusal(error, await isNameTaken(cvat, groupId, email));
    const key = found.is_active ? null : found.invitation;
    // The expiry is unknown, because CVAT does not show when the invitation was sent.
    return { ...toMember(found), ...(key !== null && { invitation: toLink(cvat, { key, email, expiresAt: null }) }) };
  }
}

/** A person with an account is a member at once. Others must register first. */
async function toAdded(
  cvat: Cvat,
  groupId: string,
  { sent, email }: { sent: CvatInvitation; email: string },
): Promise<Added> {
  const { key, user, accepted, created_date } = sent;
  const member = { id: String(user.id), email };
  const isIn = accepted ?? (await findById(cvat, groupId, member))?.is_active === true;
  if (isIn) return member;
  const sentMs = Date.parse(created_date);
  const expiresAt = Number.isNaN(sentMs) ? null : new Date(sentMs + expiryMs).toISOString();
  return { ...member, isInvited: true, invitation: toLink(cvat, { key, email, expiresAt }) };
}

export async function renewInvitation(cvat: Cvat, groupId: string, member: Member): Promise<Invitation> {
  const { email } = member;
  const found = await findById(cvat, groupId, member);
  const key = found?.invitation ?? null;
  if (found === null || key === null || found.is_active) throw nothingToRenew(found);
  try {
    const expiresAt = await resend(cvat, { key, email });
    return toLink(cvat, { key, email, expiresAt });
  } catch (error) {
    // CVAT resends at most five invitations an hour for the account of the token.
    if (email === null || statusOf(error) !== 429) throw error;
    return await inviteAnew(cvat, groupId, { pending: found, email });
  }
}

/** Replaces an invitation that CVAT does not resend. The old one ends with its membership. */
async function inviteAnew(
  cvat: Cvat,
  groupId: string,
  { pending, email }: { pending: CvatMember; email: string },
): Promise<Invitation> {
  const path = `/api/memberships/${pending.id}`;
  const purpose = 'take an invitation back to renew it';
  await cvat.api.call({ method: 'DELETE', path, purpose, secrets: [email] });
  const person = { trainerId: '', email, displayName: null, memberId: String(pending.user.id) };
  const { invitation } = await inviteMember(cvat, groupId, person);
  if (invitation === undefined) throw nothingToRenew(pending);
  return invitation;
}

function toLink(
  { settings: { url } }: Cvat,
  { key, email, expiresAt }: { key: string; email: string | null; expiresAt: string | null },
): Invitation {
  // As in CVAT's own mail. Every page that is opened with this query remembers the invitation.
  const query = { ...(email && { email }), invitation: key };
  return { kind: 'link', url: withQuery(`${url}/auth/login`, query), expiresAt };
}

/** 400 may mean that the person is a member already; 500, that they became one but no mail was sent. */
function mayBeThere(error: unknown): error is AppError {
  return error instanceof AppError && (error.status === 400 || error.status === 500);
}

function toRefusal(error: AppError, isNameTaken: boolean): AppError {
  const { status, message } = error;
  if (status === 400 && /already/.test(message)) {
    return new AppError(
      'conflict',
      'CVAT says that a member has this address already, but not which member: remove that member in CVAT, and Gangway will invite them again',
      { status },
    );
  }
  // The address becomes the name of a new account. If another account has that name, CVAT answers 500.
  if (isNameTaken && status === 500) {
    return new AppError(
      'conflict',
      'Another member uses this address as their name, so CVAT cannot make an account for it: have an administrator of CVAT rename that account',
      { status },
    );
  }
  const isUnexplained = status === 500 && !/[Ee]mail/.test(message);
  return isUnexplained ? new AppError('unavailable', `${message}${nameHint}`, { status }) : error;
}

const nameHint =
  '. If this lasts, another account may have this address as its name: have an administrator of CVAT rename it';

function nothingToRenew(found: CvatMember | null): AppError {
  const why = found === null ? 'the person is not a member' : 'the person has registered already, or was not invited';
  return new AppError('conflict', `Could not renew the invitation: ${why}`);
}

/** @returns when the invitation expires; null if the server sends no mail, because then it never expires */
async function resend({ api }: Cvat, { key, email }: { key: string; email: string | null }): Promise<string | null> {
  const path = `/api/invitations/${encodeURIComponent(key)}`;
  const call = { path, purpose: 'renew the invitation', secrets: [key, ...secretsOf(email)] };
  try {
    await api.call({ ...call, method: 'POST', path: `${path}/resend` });
    return new Date(Date.now() + expiryMs).toISOString();
  } catch (error) {
    if (statusOf(error) !== 500) throw error;
    const { expired } = await api.call({ ...call, answer: CvatInvitation });
    if (expired === true) throw error;
    return null;
  }
}
