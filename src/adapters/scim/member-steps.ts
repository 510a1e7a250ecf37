import { AppError } from '../../domain/errors.ts';
import type { Person } from '../adapter.ts';
import { reworded } from '../tool-request.ts';
import type { GroupFinder } from './find-groups.ts';
import { entriesOf, type GroupEntry, isEntryOf, memberIds, type Resource, rawMembersOf } from './resource.ts';
import { type ScimApi, type ScimCall, toPatch } from './scim-api.ts';
import { type ChangeAttempt, refusalOf, tryChanges } from './try-changes.ts';

/** The ways to change the members of a group. None may remove another member. */
export interface MemberSteps {
  /**
   * Sends the addition. Whether it had an effect, only a look shows.
   *
   * @param othersAdded as in `Person`
   */
  add(group: Resource, userId: string, othersAdded: OthersAdded, how: How): Promise<void>;
  /** Removes a member that the list shows. */
  remove(group: Resource, userId: string, how: How): Promise<void>;
  /** Removes a member that the list does not show, in the only way that cannot remove others. It may be refused. */
  removeUnseen(group: Resource, userId: string, how: How): Promise<void>;
}

export type OthersAdded = Person['othersAdded'];

interface How {
  hasPatch: boolean;
  signal: AbortSignal;
}

export function createMemberSteps(api: ScimApi, finder: GroupFinder): MemberSteps {
  let emptiesGroups = false;
  const { toAdd, toAddWhole, toRemove, toRemoveAsEntra, toRemoveWhole } = createWrites(api);
  const additions = createAdditions(finder);

  /** Some strict servers read "remove these members" as "remove all members". */
  async function review(before: Resource, after: Resource | null, id: string, call: ScimCall) {
    const lost = lostBetween(before, after, id);
    if (after === null || lost.length === 0) return;
    emptiesGroups = true;
    const hidden = lost.map(({ value }) => value);
    const back: ScimCall = { ...call, hidden, purpose: 'put the others back into the group' };
    await tryChanges(after, {
      did: 'put them back',
      attempts: [toAdd(lost, back), toAddWhole(lost, back)],
      read: () => finder.byId(after.id, call.signal),
      isDone: (current) => lostBetween(before, current, id).length === 0,
    }).catch((error: unknown) => {
      throw lostOthers(`${lost.length} may be missing now, so run gangway reconcile`, error);
    });
    throw lostOthers(`${lost.length} were put back`);
  }

  function waysToRemove(group: Resource, id: string, hasPatch: boolean, call: ScimCall): ChangeAttempt[] {
    const asEntra: ChangeAttempt = {
      ...toRemoveAsEntra(id, call),
      isRisky: true,
      review: (before, after) => review(before, after, id, call),
    };
    return [
      ...(hasPatch ? [toRemove(id, call)] : []),
      ...(hasPatch && !emptiesGroups ? [asEntra] : []),
      ...(additions.areShown(group, [id]) ? [toRemoveWhole(id, call)] : []),
    ];
  }

  return {
    async add(group, userId, othersAdded, { hasPatch, signal }) {
      const call: ScimCall = { purpose: 'add the member', hidden: [userId], signal };
      const entries = [{ value: userId }];
      const refusal = hasPatch ? await refusalOf(toAdd(entries, call).send(group)) : null;
      if (refusal !== undefined) {
        if (!additions.areShown(group, othersAdded)) throw notWritten(refusal);
        await toAddWhole(entries, call).send(group);
      }
      await additions.record(group.id, userId, signal);
    },

    async remove(group, id, { hasPatch, signal }) {
      const call = toRemovalCall(id, signal);
      const attempts = waysToRemove(group, id, hasPatch, call);
      if (attempts.length === 0) throw notShownYet(call.purpose);
      await tryChanges(group, {
        did: 'removed the member',
        attempts,
        read: () => finder.byId(group.id, signal),
        isDone: (current) => current === null || !memberIds(current).has(id),
      });
      additions.forget(group.id, id);
    },

    async removeUnseen(group, id, { hasPatch, signal }) {
      const isRefused =
        !hasPatch || (await refusalOf(toRemove(id, toRemovalCall(id, signal)).send(group))) !== undefined;
      if (!isRefused) additions.forget(group.id, id);
    },
  };
}

function toRemovalCall(id: string, signal: AbortSignal): ScimCall {
  return { purpose: 'remove the member', hidden: [id], signal };
}

function createWrites(api: ScimApi) {
  const patch = (operation: object, call: ScimCall): ChangeAttempt => ({
    send: (resource) => api.change('PATCH', { type: 'Groups', resource }, toPatch(operation), call),
  });

  /** Writes the whole group, with everything else in it. */
  const put = (edit: (members: unknown[]) => unknown[], call: ScimCall): ChangeAttempt => ({
    async send(resource) {
      const body = { ...resource, members: edit(rawMembersOf(resource) ?? []) };
      await api.change('PUT', { type: 'Groups', resource }, body, call);
    },
  });
  const without = (members: unknown[], ids: string[]) => members.filter((one) => !isEntryOf(one, ids));

  return {
    toAdd: (entries: readonly GroupEntry[], call: ScimCall) =>
      patch({ op: 'add', path: 'members', value: entries }, call),
    toAddWhole: (entries: readonly GroupEntry[], call: ScimCall) => {
      const ids = entries.map(({ value }) => value);
      return put((members) => [...without(members, ids), ...entries], call);
    },
    toRemove: (id: string, call: ScimCall) =>
      patch({ op: 'remove', path: `members[value eq ${JSON.stringify(id)}]` }, call),
    toRemoveAsEntra: (id: string, call: ScimCall) =>
      patch({ op: 'remove', path: 'members', value: [{ value: id }] }, call),
    toRemoveWhole: (id: string, call: ScimCall) => put((members) => without(members, [id]), call),
  };
}

/** Remembers which additions the server has accepted and not shown yet. */
function createAdditions(finder: GroupFinder) {
  const unshown = new Map<string, Set<string>>();

  return {
    /** Whether the list was read whole, as far as Gangway can know: it has shown a change of ours, and lacks none. */
    areShown(group: Resource, ours: OthersAdded): boolean {
      if (ours === undefined) return false;
      const shown = memberIds(group);
      const isShown = (id: string) => shown.has(id);
      return (ours.length === 0 || ours.some(isShown)) && [...(unshown.get(group.id) ?? [])].every(isShown);
    },

    async record(groupId: string, userId: string, signal: AbortSignal): Promise<void> {
      const after = await finder.byId(groupId, signal);
      const shown = after === null ? new Set<string>() : memberIds(after);
      const accepted = [...(unshown.get(groupId) ?? []), userId];
      unshown.set(groupId, new Set(accepted.filter((id) => !shown.has(id))));
    },

    forget: (groupId: string, userId: string) => void unshown.get(groupId)?.delete(userId),
  };
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

function notShownYet(purpose: string): AppError {
  const why = 'the group has to be written whole, and its list does not show yet what was added last';
  return new AppError('unavailable', `Could not ${purpose}: ${why}`);
}

function lostOthers(outcome: string, cause?: unknown): AppError {
  const what = 'Asked to take one out of a group, the tool took others out';
  return new AppError('internal', `${what}: ${outcome}`, { cause });
}
