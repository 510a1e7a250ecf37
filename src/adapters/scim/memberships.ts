import { AppError } from '../../domain/errors.ts';
import { findGroup, removeGroupMember } from './groups.ts';
import { entriesOf, groupsOf, isActive, memberIds, namesGroup, type Resource } from './resource.ts';
import type { Scim } from './scim-api.ts';
import { listAll } from './search.ts';
import { readUser } from './users.ts';

/** What makes a person a member: an active account, in the group. Without groups an active account is the membership. */

export async function isMember(scim: Scim, groupId: string, user: Resource, signal: AbortSignal): Promise<boolean> {
  if (!isActive(user)) return false;
  if (scim.settings.group === null) return true;
  const group = await findGroup(scim, groupId, signal);
  if (group === null) return false;
  // A list without anyone may be hidden. Then the account may show its groups.
  return memberIds(group).has(user.id) || (entriesOf(group).length === 0 && namesGroup(user, group.id));
}

/** @returns `unproven` if nothing in the tool shows who is in the group */
export async function takeMembership(
  scim: Scim,
  groupId: string,
  userId: string,
  signal: AbortSignal,
): Promise<'unproven' | undefined> {
  const hasGroups = scim.settings.group !== null;
  if (hasGroups && (await removeGroupMember(scim, groupId, userId, signal)) === undefined) return undefined;
  const user = await readUser(scim, userId, signal);
  if (user === null || !isActive(user)) return undefined;
  // An account that names its groups shows the next look whether it is still in this one.
  if (hasGroups) return groupsOf(user).length > 0 ? undefined : 'unproven';
  throw new AppError(
    'conflict',
    'Their account is all there is to take away here, and it is not ended: it is not known to be made by Gangway, or customers share the tool',
  );
}

/** Each once. */
export async function* listMembers(scim: Scim, groupId: string, signal: AbortSignal): AsyncGenerator<Resource> {
  const seen = new Set<string>();
  const users = scim.settings.group === null ? listUsers(scim, signal) : listGroup(scim, groupId, signal);
  for await (const user of users) {
    if (seen.has(user.id) || !isActive(user)) continue;
    seen.add(user.id);
    yield user;
  }
}

/** From the list of all, which needs fewer calls; those that it missed because it changed, one by one. */
async function* listGroup(scim: Scim, groupId: string, signal: AbortSignal): AsyncGenerator<Resource> {
  const group = await findGroup(scim, groupId, signal);
  const ids = group === null ? new Set<string>() : memberIds(group);
  if (ids.size === 0) return;
  for await (const user of listUsers(scim, signal)) if (ids.delete(user.id)) yield user;
  for (const id of ids) {
    const user = await readUser(scim, id, signal);
    if (user !== null) yield user;
  }
}

function listUsers(scim: Scim, signal: AbortSignal): AsyncGenerator<Resource> {
  return listAll(scim, 'Users', { purpose: 'list the accounts', signal });
}
