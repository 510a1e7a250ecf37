import { AppError } from '../../domain/errors.ts';
import { statusOf } from '../../lib/rest-client.ts';
import { isSameAddress } from '../../lib/text.ts';
import type { Member, Person } from '../adapter.ts';
import { unless } from '../tool-request.ts';
import { type Cvat, isExactly, type ListCall, listAll } from './cvat-api.ts';
import { type Membership, Memberships, toOrganization, Users } from './cvat-schema.ts';

/**
 * The members of an organization. CVAT shows no addresses. A person who was invited without an
 * account has their address as name until they register; all others are known by the id of their account,
 * which was in the answer to the invitation. Every user may take the address of another person as their
 * name at any time, so the name of a member who is in proves nothing.
 */

/** A membership whose account still exists. */
export type CvatMember = Membership & { user: NonNullable<Membership['user']> };

export async function findCvatMember(
  cvat: Cvat,
  groupId: string,
  { memberId, email }: Person,
  signal: AbortSignal,
): Promise<CvatMember | null> {
  const known = memberId === null ? null : await findById(cvat, groupId, { id: memberId, email }, signal);
  if (known !== null) return known;
  const named = await findByName(cvat, groupId, email, signal);
  return named.find(({ is_active }) => !is_active) ?? null;
}

/** Memberships cannot be searched by the id of an account, only by its name, which can change. */
export async function findById(
  cvat: Cvat,
  groupId: string,
  { id, email }: Member,
  signal: AbortSignal,
): Promise<CvatMember | null> {
  const org = toOrganization(groupId);
  if (!/^\d{1,15}$/.test(id)) return null;
  const filters = [isExactly('id', Number(id))];
  const secrets = secretsOf(email);
  const call = { path: '/api/users', query: { org }, filters, purpose: 'find the account', secrets, signal };
  for await (const user of listAll(cvat, Users, call)) {
    const named = listCvatMembers(cvat, groupId, { filters: [isExactly('user', user.username)], secrets, signal });
    for await (const found of named) if (String(found.user.id) === id) return found;
  }
  return null;
}

/** `search` finds any part of a name in any case. An exact filter respects the case. */
async function findByName(cvat: Cvat, groupId: string, email: string, signal: AbortSignal): Promise<CvatMember[]> {
  const which = { query: { search: email.toLowerCase() }, secrets: [email], signal };
  const named = await Array.fromAsync(listCvatMembers(cvat, groupId, which));
  return named.filter(({ user }) => isSameAddress(user.username, email));
}

/** Whether a member who is in has this address as their name. */
export async function isNameTaken(cvat: Cvat, groupId: string, email: string, signal: AbortSignal): Promise<boolean> {
  return (await findByName(cvat, groupId, email, signal)).some(({ is_active }) => is_active);
}

export async function* listCvatMembers(
  cvat: Cvat,
  groupId: string,
  { query, ...call }: Pick<ListCall, 'query' | 'filters' | 'secrets' | 'signal'>,
): AsyncGenerator<CvatMember> {
  const request = { path: '/api/memberships', purpose: 'list the members', ...call };
  const members = listAll(cvat, Memberships, { ...request, query: { org: toOrganization(groupId), ...query } });
  for await (const { user, ...found } of members) if (user !== null) yield { ...found, user };
}

/**
 * Removes a member from an organization, which locks them out at once. Accounts in the server's group
 * `worker` are an exception: they open what is assigned to them without a membership
 * (`end-assignments.ts`).
 */
export async function removeMember(cvat: Cvat, groupId: string, member: Member, signal: AbortSignal): Promise<void> {
  const found = await findById(cvat, groupId, member, signal);
  if (found === null) return;
  const { role, user } = found;
  const secrets = [user.username, ...secretsOf(member.email)];
  // CVAT deletes the invitation too, accepted or not.
  const call = { path: `/api/memberships/${found.id}`, purpose: 'remove the member', secrets, signal };
  try {
    await unless([404], cvat.api.call({ ...call, method: 'DELETE' }));
  } catch (error) {
    // A refusal for an owner or maintainer says nothing about other members, so it is not `forbidden`.
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

/** How much the clocks of CVAT and of this machine may differ. */
const clockMarginMs = 3_600_000;

/** Whether a member may have come in, or may still come in, by a call made at or after `since`. */
export function isNewcomer({ is_active, joined_date, role, invitation }: CvatMember, since: string): boolean {
  if (role === 'owner') return false;
  if (!is_active) return invitation !== null;
  const joinedMs = Date.parse(joined_date ?? '');
  return Number.isNaN(joinedMs) || joinedMs >= Date.parse(since) - clockMarginMs;
}

/** Only an invited person has their address as name. The name of a member who is in proves nothing. */
export function toMember({ user, is_active }: CvatMember): Member {
  const isAddress = user.username.includes('@');
  return {
    id: String(user.id),
    email: !is_active && isAddress ? user.username : null,
    name: user.username,
    ...(!is_active && { isInvited: true }),
  };
}
