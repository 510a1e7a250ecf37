import { AppError } from '../../domain/errors.ts';
import { toInstantText } from '../../domain/marketplace-text.ts';
import type { RestClient } from '../../lib/rest-client.ts';
import { isSameAddress } from '../../lib/text.ts';
import { pathSegment } from '../../lib/url.ts';
import type { Member, Person } from '../adapter.ts';
import { unless } from '../tool-request.ts';
import { type LabelStudio, readMe, readOrganization, readUser } from './label-studio-api.ts';
import type { User } from './label-studio-schema.ts';

/** Finds members among the users of Label Studio, and removes them. */

export async function findUser(
  { api, users }: LabelStudio,
  { memberId, email, maxListAgeMs = 0 }: Person,
  signal: AbortSignal,
): Promise<Member | null> {
  const known = isUserId(memberId) ? await readUser(api, memberId, signal) : null;
  if (known !== null && isMember(known)) return toMember(known);
  return findByAddress(await users.read(maxListAgeMs, signal), email);
}

/**
 * A user whose membership was ended by hand is masked, but still gets in. The membership itself does not show its end:
 * Label Studio answers 200 for it as before.
 */
export async function findUserById(api: RestClient, id: string, signal: AbortSignal): Promise<Member | null> {
  const user = isUserId(id) ? await readUser(api, id, signal) : null;
  if (user === null) return null;
  return isMember(user) ? toMember(user) : { ...toMember(user), email: null };
}

export function findByAddress(users: readonly User[], email: string | null): Member | null {
  const found = users.find((user) => isMember(user) && isSameAddress(user.email ?? null, email));
  return found === undefined ? null : toMember(found);
}

/** Users have numbers. An invited person has the id `invited:…` instead. */
export function isUserId(id: string | null): id is string {
  return id !== null && /^[1-9]\d{0,15}$/.test(id);
}

/** Former members stay in every list, with the address `Deleted` or an invented one. */
export function isMember({ id, email }: User): boolean {
  return Boolean(email?.includes('@')) && email !== `deleted-${id}-user@example.com`;
}

export function toMember({ id, email, date_joined: joined }: User): Member {
  const madeAt = toInstantText(joined);
  return { id: String(id), email: email ?? null, ...(madeAt !== undefined && { madeAt }) };
}

export async function endMembership(studio: LabelStudio, member: Member, signal: AbortSignal): Promise<void> {
  const members = `/api/organizations/${pathSegment(studio.settings.organization)}/memberships`;
  await remove(studio, member, { at: members, purpose: 'end the membership' }, signal);
}

export async function deleteUser(studio: LabelStudio, member: Member, signal: AbortSignal): Promise<void> {
  await remove(studio, member, { at: '/api/users', purpose: 'delete the user' }, signal);
}

async function remove(
  studio: LabelStudio,
  { id, email }: Member,
  { at, purpose }: { at: string; purpose: string },
  signal: AbortSignal,
): Promise<void> {
  // A person who was invited and has come since is found by address.
  const userId = isUserId(id) ? id : findByAddress(await studio.users.read(0, signal), email)?.id;
  if (userId === undefined) return;
  await refuseOwner(studio, userId, signal);
  // A user who no longer exists is removed.
  const path = `${at}/${pathSegment(userId)}/`;
  await unless([404], studio.api.call({ method: 'DELETE', path, purpose, signal }));
}

/** Refuses the owner and the token's own user. Only the newest versions of Label Studio refuse most of this. */
async function refuseOwner(studio: LabelStudio, id: string, signal: AbortSignal): Promise<void> {
  const [me, shown] = [await readMe(studio.api, signal), await readOrganization(studio, signal)];
  if (shown === null) {
    const why = `Label Studio does not show organization ${studio.settings.organization}, so its owner is unknown`;
    throw new AppError('not_found', `Could not remove the member: ${why}; see that the token may read it`);
  }
  if (id !== String(me.id) && id !== String(shown.created_by)) return;
  throw new AppError('invalid', 'Gangway does not remove the owner of the organization or of the token');
}
