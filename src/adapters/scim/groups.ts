import { AppError } from '../../domain/errors.ts';
import { isPathSegment } from '../../lib/url.ts';
import type { Person } from '../adapter.ts';
import { unless } from '../tool-request.ts';
import { addToGroup, readGroup, removeShown, removeUnseen } from './member-steps.ts';
import { entriesOf, groupSchema, memberIds, type Resource, textAt } from './resource.ts';
import { type Scim, scimPost } from './scim-api.ts';
import { search } from './search.ts';

/** Groups by their exact display names, because strangers choose the names of projects; and their members. */

/** With its members; null if no group has the name. */
export async function findGroup(scim: Scim, name: string, signal: AbortSignal): Promise<Resource | null> {
  const knownId = scim.groupIds.get(name);
  const known = knownId === undefined ? null : await readGroup(scim, knownId, signal);
  if (known !== null && isNamed(known, name)) return known;
  const id = await idOf(scim, name, signal);
  if (id === undefined && !isPathSegment(name)) return null;
  // Some servers know groups only by their names.
  const group = await readGroup(scim, id ?? name, signal);
  if (group === null || !isNamed(group, name)) return null;
  scim.groupIds.set(name, group.id);
  return group;
}

async function idOf(scim: Scim, name: string, signal: AbortSignal): Promise<string | undefined> {
  const also = { excludedAttributes: 'members' };
  const filter = { attribute: 'displayName', value: name, isNeeded: true, also };
  const ids = new Set<string>();
  for await (const group of search(scim, 'Groups', filter, { purpose: 'find the group', signal })) {
    if (isNamed(group, name)) ids.add(group.id);
  }
  if (ids.size > 1) {
    throw new AppError('invalid', `${ids.size} groups of the tool are called ${quote(name)}`);
  }
  return [...ids][0];
}

/** Sends the addition. Whether it had an effect, only a look shows. */
export async function addGroupMember(
  scim: Scim,
  name: string,
  { id, othersAdded }: { id: string; othersAdded: Person['othersAdded'] },
  signal: AbortSignal,
): Promise<void> {
  const found = await findGroup(scim, name, signal);
  const group = found ?? (await createGroup(scim, name, id, signal));
  if (!memberIds(group).has(id)) await addToGroup(scim, group, { id, othersAdded }, signal);
}

/**
 * Sends the removal even if the list does not show the member.
 *
 * @returns `unproven` if the group shows no member after it, as on a server that never shows members
 */
export async function removeGroupMember(
  scim: Scim,
  name: string,
  id: string,
  signal: AbortSignal,
): Promise<'unproven' | undefined> {
  const group = await findGroup(scim, name, signal);
  if (group === null) return undefined;
  if (memberIds(group).has(id)) {
    await removeShown(scim, group, id, signal);
    return undefined;
  }
  // Not shown is not out: the server may not show its members, or show them late.
  await removeUnseen(scim, group, id, signal);
  return entriesOf(group).length > 0 ? undefined : 'unproven';
}

/** With the member in it. */
async function createGroup(scim: Scim, name: string, userId: string, signal: AbortSignal): Promise<Resource> {
  if (!scim.settings.createGroups) {
    const remedy = 'create it there, or set "createGroups": true';
    throw new AppError('invalid', `The tool has no group ${quote(name)}: ${remedy}`);
  }
  const call = { purpose: 'create the group', hidden: [userId], signal };
  const body = { schemas: [groupSchema], displayName: name, members: [{ value: userId }] };
  const answer = await unless([409], scimPost(scim, '/Groups', body, call));
  const group = await findGroup(scim, name, signal);
  if (group !== null) return group;
  if (answer === null) {
    const why = `one is in the way, which may be ${quote(name)} in another case`;
    throw new AppError('conflict', `Could not create the group: ${why}`, { status: 409 });
  }
  throw new AppError('unavailable', 'The tool says it made the group but does not show it');
}

function isNamed(group: Resource, name: string): boolean {
  return textAt(group, 'displayName') === name;
}

/** A name for an error. It may be long and contain anything. */
function quote(name: string): string {
  return JSON.stringify(name.slice(0, 100));
}
