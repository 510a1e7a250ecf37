import { toInstantText } from '../../domain/marketplace-text.ts';
import { isSameAddress } from '../../lib/same-address.ts';
import type { SharedReading } from '../../lib/share-reading.ts';
import type { Member, Person } from '../adapter.ts';
import type { LabelStudioApi } from './label-studio-api.ts';
import type { User } from './label-studio-schema.ts';

/** Finds members among the users of Label Studio. */

/** The list of all users. It is shared because Label Studio has no search. */
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

/** Null for a person who is invited and has not come yet. */
export async function idOfMember(
  users: SharedUsers,
  { id, email }: Member,
  signal: AbortSignal,
): Promise<string | null> {
  if (isUserId(id)) return id;
  return findByAddress(await users.read(0, signal), email)?.id ?? null;
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
