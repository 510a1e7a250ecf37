import { AppError } from '../../domain/errors.ts';
import { isPathSegment } from '../../lib/url.ts';
import type { Person } from '../adapter.ts';
import { reworded, unless } from '../tool-request.ts';
import { isObject, toId } from '../values.ts';
import {
  type ChangeAttempt,
  entriesAt,
  listAt,
  patchWith,
  pathOf,
  putWith,
  type Resource,
  readDialect,
  refusalOf,
  type Scim,
  type ScimCall,
  scimGet,
  scimPost,
  textAt,
  toResource,
  tryChanges,
} from './scim-api.ts';
import { readUser, search } from './users.ts';

const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group';

/**
 * A group with its members, by its exact display name, because customers choose the names of projects.
 *
 * @returns null if no group has the name
 */
export async function findGroup(scim: Scim, name: string): Promise<Resource | null> {
  const knownId = scim.server.groupIds.get(name);
  const known = knownId === undefined ? null : await readGroup(scim, knownId);
  if (known !== null && isNamed(known, name)) return known;
  const id = await idOf(scim, name);
  if (id === undefined && !isPathSegment(name)) return null;
  // Some servers know groups only by their names.
  const group = await readGroup(scim, id ?? name);
  if (group === null || !isNamed(group, name)) return null;
  scim.server.groupIds.set(name, group.id);
  return group;
}

async function idOf(scim: Scim, name: string): Promise<string | undefined> {
  const also = { excludedAttributes: 'members' };
  const filter = { attribute: 'displayName', value: name, isNeeded: true, also };
  const ids = new Set<string>();
  for await (const group of search(scim, 'Groups', filter, { purpose: 'find the group' })) {
    if (isNamed(group, name)) ids.add(group.id);
  }
  if (ids.size > 1) throw new AppError('invalid', `${ids.size} groups of the tool are called ${quote(name)}`);
  return [...ids][0];
}

interface NewMember {
  id: string;
  othersAdded: Person['othersAdded'];
}

/** Sends the addition. Only a look proves its effect. */
export async function addGroupMember(scim: Scim, name: string, member: NewMember): Promise<void> {
  const found = await findGroup(scim, name);
  const group = found ?? (await createGroup(scim, name, member.id));
  if (!memberIds(group).has(member.id)) await addToGroup(scim, group, member);
}

/**
 * Sends the removal even if the list does not show the member.
 *
 * @returns `unproven` if the group shows no members, as on a server that never shows them
 */
export async function removeGroupMember(scim: Scim, name: string, id: string): Promise<'unproven' | undefined> {
  const group = await findGroup(scim, name);
  if (group === null) return undefined;
  if (memberIds(group).has(id)) {
    await removeShown(scim, group, id);
    return undefined;
  }
  // They may still be in: the server may not show its members, or show them late.
  await removeUnseen(scim, group, id);
  return entriesOf(group).length > 0 ? undefined : 'unproven';
}

/** Creates the group with its first member. */
async function createGroup(scim: Scim, name: string, userId: string): Promise<Resource> {
  if (!scim.settings.createGroups) {
    const remedy = 'create it there, or set "createGroups": true';
    throw new AppError('invalid', `The tool has no group ${quote(name)}: ${remedy}`);
  }
  const call = { purpose: 'create the group', hidden: [userId] };
  const body = { schemas: [groupSchema], displayName: name, members: [{ value: userId }] };
  const answer = await unless([409], scimPost(scim, '/Groups', body, call));
  const group = await findGroup(scim, name);
  if (group !== null) return group;
  if (answer === null) {
    const why = `the tool says that it exists; its name may differ from ${quote(name)} in case`;
    throw new AppError('conflict', `Could not create the group: ${why}`, { status: 409 });
  }
  throw new AppError('unavailable', 'The tool says it created the group but does not show it');
}

function isNamed(group: Resource, name: string): boolean {
  return textAt(group, 'displayName') === name;
}

/** For an error. The name may be long and contain anything. */
function quote(name: string): string {
  return JSON.stringify(name.slice(0, 100));
}

async function readGroup(scim: Scim, id: string): Promise<Resource | null> {
  const call = { purpose: 'read the group' };
  const group = toResource(await unless([404, 410], scimGet(scim, pathOf('Groups', id), {}, call)));
  if (group === undefined) return null;
  return listAt(group, 'members') === undefined ? await withMembers(scim, group, call) : group;
}

/** Some servers show the members only on request (RFC 7643, "returned"). Others leave out an empty list. */
async function withMembers(scim: Scim, group: Resource, call: ScimCall): Promise<Resource> {
  const query = { attributes: 'displayName,members' };
  const answer = await unless([400, 404, 410, 501], scimGet(scim, pathOf('Groups', group.id), query, call));
  const shown = toResource(answer);
  const members = shown?.id === group.id ? listAt(shown, 'members') : undefined;
  return members === undefined ? group : { ...group, members };
}

async function addToGroup(scim: Scim, group: Resource, { id, othersAdded }: NewMember): Promise<void> {
  const { hasPatch } = await readDialect(scim);
  const call = { purpose: 'add the member', hidden: [id] };
  const entries = [{ value: id }];
  const refusal = hasPatch ? await refusalOf(add(scim, entries, call).send(group)) : null;
  if (refusal !== undefined) {
    if (!(await isReadWhole(scim, group, { ours: othersAdded, added: id }))) throw notWritten(refusal);
    await addWhole(scim, entries, call).send(group);
  }
  const after = await readGroup(scim, group.id);
  const shown = after === null ? new Set<string>() : memberIds(after);
  const accepted = [...(scim.server.unshown.get(group.id) ?? []), id];
  scim.server.unshown.set(group.id, new Set(accepted.filter((one) => !shown.has(one))));
}

/** Removes a member that the list shows. */
async function removeShown(scim: Scim, group: Resource, id: string): Promise<void> {
  const { hasPatch } = await readDialect(scim);
  const call = toRemovalCall(id);
  const asEntra: ChangeAttempt = {
    ...patchWith(scim, 'Groups', { op: 'remove', path: 'members', value: [{ value: id }] }, call),
    isRisky: true,
    review: (before, after) => review(scim, { before, after, id }, call),
  };
  const attempts = [
    ...(hasPatch ? [removeById(scim, id, call)] : []),
    ...(hasPatch && !scim.server.emptiesGroups ? [asEntra] : []),
    ...((await isReadWhole(scim, group, { ours: [id] }))
      ? [writeMembers(scim, (members) => without(members, [id]), call)]
      : []),
  ];
  if (attempts.length === 0) {
    const why = 'the whole group would have to be written, and its list does not show the latest additions yet';
    throw new AppError('unavailable', `Could not ${call.purpose}: ${why}`);
  }
  await tryChanges(group, {
    did: 'removed the member',
    attempts,
    read: () => readGroup(scim, group.id),
    isDone: (current) => current === null || !memberIds(current).has(id),
  });
  scim.server.unshown.get(group.id)?.delete(id);
}

/** Removes a member that the list does not show, in the only way that cannot remove others. The server may refuse it. */
async function removeUnseen(scim: Scim, group: Resource, id: string): Promise<void> {
  const { hasPatch } = await readDialect(scim);
  if (!hasPatch) return;
  const refusal = await refusalOf(removeById(scim, id, toRemovalCall(id)).send(group));
  if (refusal === undefined) scim.server.unshown.get(group.id)?.delete(id);
}

function toRemovalCall(id: string): ScimCall {
  return { purpose: 'remove the member', hidden: [id] };
}

/** Puts back the others, because some strict servers read "remove these members" as "remove all members". */
async function review(
  scim: Scim,
  { before, after, id }: { before: Resource; after: Resource | null; id: string },
  call: ScimCall,
): Promise<void> {
  const lost = lostBetween(before, after, id);
  if (after === null || lost.length === 0) return;
  scim.server.emptiesGroups = true;
  const hidden = lost.map(({ value }) => value);
  const back = { ...call, hidden, purpose: 'put the others back into the group' };
  await tryChanges(after, {
    did: 'put them back',
    attempts: [add(scim, lost, back), addWhole(scim, lost, back)],
    read: () => readGroup(scim, after.id),
    isDone: (current) => lostBetween(before, current, id).length === 0,
  }).catch((error: unknown) => {
    throw lostOthers(`${lost.length} may be missing; run gangway reconcile`, error);
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
  const toWritten = (group: Resource) => ({ ...group, members: edit(listAt(group, 'members') ?? []) });
  return putWith(scim, 'Groups', toWritten, call);
}

function without(members: unknown[], ids: string[]): unknown[] {
  return members.filter((one) => !isEntryOf(one, ids));
}

/**
 * Whether the list of members seems complete: it shows one of ours, and every addition that the server has accepted of
 * an account that still exists.
 *
 * @param added the account that Gangway adds now, whose first addition the server may have dropped
 */
async function isReadWhole(
  scim: Scim,
  group: Resource,
  { ours, added }: { ours: Person['othersAdded']; added?: string },
): Promise<boolean> {
  if (ours === undefined) return false;
  const shown = memberIds(group);
  if (ours.length > 0 && !ours.some((id) => shown.has(id))) return false;
  for (const id of scim.server.unshown.get(group.id) ?? []) {
    if (id === added || shown.has(id)) continue;
    if ((await readUser(scim, id)) !== null) return false;
    scim.server.unshown.get(group.id)?.delete(id);
  }
  return true;
}

/** The members that have disappeared, except the one to be removed. */
function lostBetween(before: Resource, after: Resource | null, id: string): GroupEntry[] {
  const there = after === null ? [] : entriesOf(after).map(({ value }) => value);
  const kept = new Set([...there, id]);
  return entriesOf(before).filter(({ value }) => !kept.has(value));
}

/** Writing the whole group would remove all members that the server does not show. */
function notWritten(refusal: unknown): AppError {
  const why =
    'Gangway does not write the whole group, because its list does not show the members that Gangway added, and writing it would remove everyone who is not shown; check that the token may read the members, and let Gangway create the group ("createGroups")';
  if (refusal instanceof AppError) return reworded(refusal, `${refusal.message}; ${why}`);
  return new AppError('invalid', `Could not add the member: ${why}`);
}

function lostOthers(outcome: string, cause?: unknown): AppError {
  return new AppError('internal', `When one member was removed from a group, the tool removed others: ${outcome}`, {
    cause,
  });
}

/** What is needed to add a user or a group to a group. */
interface GroupEntry {
  value: string;
  type?: string;
}

/** Each member once. */
export function entriesOf(group: Resource): GroupEntry[] {
  const entries = new Map<string, GroupEntry>();
  for (const { value: id, type } of entriesAt(group, 'members')) {
    const value = toId(id);
    if (value !== undefined) entries.set(value, { value, ...(typeof type === 'string' && { type }) });
  }
  return [...entries.values()];
}

/** The members that are users, without nested groups. */
export function memberIds(group: Resource): Set<string> {
  const users = entriesOf(group).filter(({ type }) => type?.toLowerCase() !== 'group');
  return new Set(users.map(({ value }) => value));
}

function isEntryOf(entry: unknown, ids: readonly string[]): boolean {
  const id = isObject(entry) ? toId(entry['value']) : undefined;
  return id !== undefined && ids.includes(id);
}
