import { AppError } from '../../domain/errors.ts';
import { isPathSegment } from '../../lib/url.ts';
import type { Person } from '../adapter.ts';
import { reworded, unless } from '../tool-request.ts';
import {
  entriesOf,
  type GroupEntry,
  groupSchema,
  isEntryOf,
  memberIds,
  type Resource,
  rawMembersOf,
  textAt,
  toResource,
} from './resource.ts';
import {
  type ChangeAttempt,
  patchWith,
  pathOf,
  putWith,
  readDialect,
  refusalOf,
  type Scim,
  type ScimCall,
  scimGet,
  scimPost,
  tryChanges,
} from './scim-api.ts';
import { readUser, search } from './users.ts';

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

/** The members of a group, and the ways to change them. None may remove another member. */

async function readGroup(scim: Scim, id: string, signal: AbortSignal): Promise<Resource | null> {
  const call = { purpose: 'read the group', signal };
  const group = toResource(await unless([404, 410], scimGet(scim, pathOf('Groups', id), {}, call)));
  if (group === undefined) return null;
  return rawMembersOf(group) === undefined ? await withMembers(scim, group, call) : group;
}

/** Some servers show the members only on request (RFC 7643, "returned"). Others leave out an empty list. */
async function withMembers(scim: Scim, group: Resource, call: ScimCall): Promise<Resource> {
  const query = { attributes: 'displayName,members' };
  const answer = await unless([400, 404, 410, 501], scimGet(scim, pathOf('Groups', group.id), query, call));
  const shown = toResource(answer);
  const members = shown?.id === group.id ? rawMembersOf(shown) : undefined;
  return members === undefined ? group : { ...group, members };
}

/** Sends the addition. Whether it had an effect, only a look shows. */
async function addToGroup(
  scim: Scim,
  group: Resource,
  { id, othersAdded }: { id: string; othersAdded: Person['othersAdded'] },
  signal: AbortSignal,
): Promise<void> {
  const { hasPatch } = await readDialect(scim, signal);
  const call = { purpose: 'add the member', hidden: [id], signal };
  const entries = [{ value: id }];
  const refusal = hasPatch ? await refusalOf(add(scim, entries, call).send(group)) : null;
  if (refusal !== undefined) {
    if (!(await isReadWhole(scim, group, { ours: othersAdded, added: id }, signal))) throw notWritten(refusal);
    await addWhole(scim, entries, call).send(group);
  }
  const after = await readGroup(scim, group.id, signal);
  const shown = after === null ? new Set<string>() : memberIds(after);
  const accepted = [...(scim.unshown.get(group.id) ?? []), id];
  scim.unshown.set(group.id, new Set(accepted.filter((one) => !shown.has(one))));
}

/** Removes a member that the list shows. */
async function removeShown(scim: Scim, group: Resource, id: string, signal: AbortSignal): Promise<void> {
  const { hasPatch } = await readDialect(scim, signal);
  const call = toRemovalCall(id, signal);
  const asEntra: ChangeAttempt = {
    ...patchWith(scim, 'Groups', { op: 'remove', path: 'members', value: [{ value: id }] }, call),
    isRisky: true,
    review: (before, after) => review(scim, { before, after, id }, call),
  };
  const attempts = [
    ...(hasPatch ? [removeById(scim, id, call)] : []),
    ...(hasPatch && !scim.emptiesGroups ? [asEntra] : []),
    ...((await isReadWhole(scim, group, { ours: [id] }, signal))
      ? [writeMembers(scim, (members) => without(members, [id]), call)]
      : []),
  ];
  if (attempts.length === 0) {
    const why = 'the group has to be written whole, and its list does not show yet what was added last';
    throw new AppError('unavailable', `Could not ${call.purpose}: ${why}`);
  }
  await tryChanges(group, {
    did: 'removed the member',
    attempts,
    read: () => readGroup(scim, group.id, signal),
    isDone: (current) => current === null || !memberIds(current).has(id),
  });
  scim.unshown.get(group.id)?.delete(id);
}

/** Removes a member that the list does not show, in the only way that cannot remove others. It may be refused. */
async function removeUnseen(scim: Scim, group: Resource, id: string, signal: AbortSignal): Promise<void> {
  const { hasPatch } = await readDialect(scim, signal);
  if (!hasPatch) return;
  const refusal = await refusalOf(removeById(scim, id, toRemovalCall(id, signal)).send(group));
  if (refusal === undefined) scim.unshown.get(group.id)?.delete(id);
}

function toRemovalCall(id: string, signal: AbortSignal): ScimCall {
  return { purpose: 'remove the member', hidden: [id], signal };
}

/** Some strict servers read "remove these members" as "remove all members". */
async function review(
  scim: Scim,
  { before, after, id }: { before: Resource; after: Resource | null; id: string },
  call: ScimCall,
): Promise<void> {
  const lost = lostBetween(before, after, id);
  if (after === null || lost.length === 0) return;
  scim.emptiesGroups = true;
  const hidden = lost.map(({ value }) => value);
  const back = { ...call, hidden, purpose: 'put the others back into the group' };
  await tryChanges(after, {
    did: 'put them back',
    attempts: [add(scim, lost, back), addWhole(scim, lost, back)],
    read: () => readGroup(scim, after.id, call.signal),
    isDone: (current) => lostBetween(before, current, id).length === 0,
  }).catch((error: unknown) => {
    throw lostOthers(`${lost.length} may be missing now, so run gangway reconcile`, error);
  });
  throw lostOthers(`${lost.length} were put back`);
}

function add(scim: Scim, entries: readonly GroupEntry[], call: ScimCall): ChangeAttempt {
  return patchWith(scim, 'Groups', { op: 'add', path: 'members', value: entries }, call);
}

function addWhole(scim: Scim, entries: readonly GroupEntry[], call: ScimCall): ChangeAttempt {
  const ids = entries.map(({ value }) => value);
  return writeMembers(scim, (members) => [...without(members, ids), ...entries], call);
}

function removeById(scim: Scim, id: string, call: ScimCall): ChangeAttempt {
  return patchWith(scim, 'Groups', { op: 'remove', path: `members[value eq ${JSON.stringify(id)}]` }, call);
}

function writeMembers(scim: Scim, edit: (members: unknown[]) => unknown[], call: ScimCall): ChangeAttempt {
  const toWritten = (group: Resource) => ({ ...group, members: edit(rawMembersOf(group) ?? []) });
  return putWith(scim, 'Groups', toWritten, call);
}

function without(members: unknown[], ids: string[]): unknown[] {
  return members.filter((one) => !isEntryOf(one, ids));
}

/**
 * Whether the list of members was read whole, as far as Gangway can know: it shows one of ours, and every addition that
 * the server has accepted, of an account that exists.
 *
 * @param added the account that Gangway adds now: the server may have dropped its first addition
 */
async function isReadWhole(
  scim: Scim,
  group: Resource,
  { ours, added }: { ours: Person['othersAdded']; added?: string },
  signal: AbortSignal,
): Promise<boolean> {
  if (ours === undefined) return false;
  const shown = memberIds(group);
  if (ours.length > 0 && !ours.some((id) => shown.has(id))) return false;
  for (const id of scim.unshown.get(group.id) ?? []) {
    if (id === added || shown.has(id)) continue;
    if ((await readUser(scim, id, signal)) !== null) return false;
    scim.unshown.get(group.id)?.delete(id);
  }
  return true;
}

/** The members that have disappeared, without the one that was to be removed. */
function lostBetween(before: Resource, after: Resource | null, id: string): GroupEntry[] {
  const there = after === null ? [] : entriesOf(after).map(({ value }) => value);
  const kept = new Set([...there, id]);
  return entriesOf(before).filter(({ value }) => !kept.has(value));
}

/** Writing the group would remove all members that the server does not show. */
function notWritten(refusal: unknown): AppError {
  const why =
    'the group is not written whole, because its list of members does not show what Gangway added, and people who are not shown would be removed; see that the token may read the members, and let Gangway create the group ("createGroups")';
  if (refusal instanceof AppError) return reworded(refusal, `${refusal.message}; ${why}`);
  return new AppError('invalid', `Could not add the member: ${why}`);
}

function lostOthers(outcome: string, cause?: unknown): AppError {
  const what = 'Asked to take one out of a group, the tool took others out';
  return new AppError('internal', `${what}: ${outcome}`, { cause });
}
