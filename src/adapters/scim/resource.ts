import { toInstantText } from '../../domain/marketplace-text.ts';
import { isSameAddress } from '../../lib/same-address.ts';
import type { Member } from '../adapter.ts';

/** Users and groups as servers show them (RFC 7643): pure, and surprised by nothing. */

/** With an id; whatever else it has is kept, so that it can be written back whole. */
export interface Resource {
  id: string;
  [attribute: string]: unknown;
}

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group';

/** @returns undefined for what is no object with an id */
export function toResource(value: unknown): Resource | undefined {
  if (!isObject(value)) return undefined;
  const id = toId(value['id']);
  return id === undefined ? undefined : { ...value, id };
}

/** A string by the RFC; a number at servers that keep one. */
function toId(id: unknown): string | undefined {
  if (typeof id === 'string' && id !== '') return id;
  // Beyond that, two numbers read as one.
  return Number.isSafeInteger(id) ? String(id) : undefined;
}

/**
 * Some servers show a text, and some nothing, as `active` is optional: who is not said to be
 * inactive can get in.
 */
export function isActive(user: Resource): boolean {
  const active = user['active'];
  return String(active).toLowerCase() !== 'false';
}

/** Whether this is the account of an address. Servers that ignore filters show everybody. */
export function hasAddress(user: Resource, email: string): boolean {
  return [textAt(user, 'userName'), ...emailsOf(user)].some((one) => isSameAddress(one, email));
}

/** The name that they sign in with is the address where it is one; else the primary one. */
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

/** The entries as they are; undefined where the group shows no list of them. */
export function rawMembersOf(group: Resource): unknown[] | undefined {
  const members = group['members'];
  return Array.isArray(members) ? members : undefined;
}

/** Somebody in a group, or a group in it: what is needed to put it there. */
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

/** The users among the members; groups in groups are left out. */
export function memberIds(group: Resource): Set<string> {
  const isUser = ({ type = 'User' }: GroupEntry) => type.toLowerCase() !== 'group';
  return new Set(
    entriesOf(group)
      .filter(isUser)
      .map(({ value }) => value),
  );
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

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
