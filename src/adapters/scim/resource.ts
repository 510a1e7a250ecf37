import { toInstantText } from '../../domain/marketplace-text.ts';
import { isSameAddress } from '../../lib/text.ts';
import type { Member } from '../adapter.ts';
import { isObject, toId } from '../values.ts';

/** Users and groups as servers show them (RFC 7643). Pure; any shape is accepted. */

/** It has an id. Everything else is kept, so that it can be written back completely. */
export interface Resource {
  id: string;
  [attribute: string]: unknown;
}

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group';

/** @returns undefined if it is not an object with an id */
export function toResource(value: unknown): Resource | undefined {
  if (!isObject(value)) return undefined;
  const id = toId(value['id']);
  return id === undefined ? undefined : { ...value, id };
}

/**
 * `active` is optional, and some servers show it as text. An account that is not shown as inactive
 * counts as active, because its owner can get in.
 */
export function isActive(user: Resource): boolean {
  const active = user['active'];
  return String(active).toLowerCase() !== 'false';
}

/** Whether this is the account of an address. Servers that ignore filters return all accounts. */
export function hasAddress(user: Resource, email: string): boolean {
  return [textAt(user, 'userName'), ...emailsOf(user)].some((one) => isSameAddress(one, email));
}

/** The user name, if it is an address; else the primary address. */
export function toMember(user: Resource): Member {
  const userName = textAt(user, 'userName');
  const email = userName?.includes('@') ? userName : emailsOf(user)[0];
  const { created } = isObject(user['meta']) ? user['meta'] : {};
  const madeAt = toInstantText(created);
  return { id: user.id, email: email ?? null, ...(madeAt !== undefined && { madeAt }) };
}

/** The primary one first. */
function emailsOf(user: Resource): string[] {
  const entries = listAt(user, 'emails').filter(isObject);
  const isPrimary = (entry: Record<string, unknown>) => Number(entry['primary'] === true);
  return entries
    .toSorted((one, other) => isPrimary(other) - isPrimary(one))
    .map((entry) => entry['value'])
    .filter((value): value is string => typeof value === 'string' && value.includes('@'));
}

/** The entries as they are; undefined if the group shows no list. */
export function rawMembersOf(group: Resource): unknown[] | undefined {
  const members = group['members'];
  return Array.isArray(members) ? members : undefined;
}

/** A user or a group in a group, with what is needed to add it. */
export interface GroupEntry {
  value: string;
  type?: string;
}

/** Each once. */
export function entriesOf(group: Resource): GroupEntry[] {
  const entries = new Map<string, GroupEntry>();
  for (const entry of (rawMembersOf(group) ?? []).filter(isObject)) {
    const value = toId(entry['value']);
    const type = entry['type'];
    if (value !== undefined) entries.set(value, { value, ...(typeof type === 'string' && { type }) });
  }
  return [...entries.values()];
}

/** The members that are users, without nested groups. */
export function memberIds(group: Resource): Set<string> {
  const isUser = ({ type = 'User' }: GroupEntry) => type.toLowerCase() !== 'group';
  return new Set(
    entriesOf(group)
      .filter(isUser)
      .map(({ value }) => value),
  );
}

/** The groups that the account itself names. Not all servers show them, so an account that names none proves nothing. */
export function groupsOf(user: Resource): string[] {
  return listAt(user, 'groups')
    .filter(isObject)
    .map((entry) => toId(entry['value']))
    .filter((id) => id !== undefined);
}

export function isEntryOf(entry: unknown, ids: readonly string[]): boolean {
  const id = isObject(entry) ? toId(entry['value']) : undefined;
  return id !== undefined && ids.includes(id);
}

export function textAt(resource: Resource, attribute: string): string | null {
  const value = resource[attribute];
  return typeof value === 'string' ? value : null;
}

function listAt(resource: Resource, attribute: string): unknown[] {
  const value = resource[attribute];
  return Array.isArray(value) ? value : [];
}
