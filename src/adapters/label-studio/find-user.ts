import { toInstantText } from '../../domain/marketplace-text.ts';
import { isSameAddress } from '../../lib/same-address.ts';
import type { SharedReading } from '../../lib/share-reading.ts';
import type { Member, Person } from '../adapter.ts';
import type { LabelStudioApi } from './label-studio-api.ts';
import type { User } from './label-studio-schema.ts';

/** Who of Label Studio's users is a member, and which of them somebody is. */

/** The list of all users: there is no search, and it grows with them. */
export type SharedUsers = SharedReading<readonly User[]>;

export async function findUser(
  api: LabelStudioApi,
  users: SharedUsers,
  { memberId, email, maxListAgeMs = 0 }: Person,
  signal: AbortSignal,
): Promise<Member | null> {
  const known = isUserId(memberId) ? await api.user(memberId, signal) : null;
  if (known !== null && isMember(known)) return toMember(known);
  return findByAddress(await users.read(maxListAgeMs, signal), email);
}

export function findByAddress(users: readonly User[], email: string | null): Member | null {
  const found = users.find((user) => isMember(user) && isSameAddress(user.email ?? null, email));
  return found === undefined ? null : toMember(found);
}

/** Null for who is invited and has not come. */
export async function idOfMember(
  users: SharedUsers,
  { id, email }: Member,
  signal: AbortSignal,
): Promise<string | null> {
  if (isUserId(id)) return id;
  return findByAddress(await users.read(0, signal), email)?.id ?? null;
}

/** An address and the case of it may change; a number never does. */
export function isUserId(id: string | null): id is string {
  return id !== null && /^[1-9]\d{0,15}$/.test(id);
}

/** Former members stay in every list, as `Deleted` or as an address that is made up. */
export function isMember({ id, email }: User): boolean {
  return Boolean(email?.includes('@')) && email !== `deleted-${id}-user@example.com`;
}

export function toMember({ id, email, date_joined: joined }: User): Member {
  const madeAt = toInstantText(joined);
  return { id: String(id), email: email ?? null, ...(madeAt !== undefined && { madeAt }) };
}
