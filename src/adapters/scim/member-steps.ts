import { AppError } from '../../domain/errors.ts';
import type { GroupFinder } from './find-groups.ts';
import { entriesOf, type GroupEntry, isEntryOf, type Resource, rawMembersOf } from './resource.ts';
import { type ScimApi, type ScimCall, toPatch } from './scim-api.ts';
import { type ChangeAttempt, tryChanges } from './try-changes.ts';

/** The ways to change the members of a group. None may remove another member. */
export interface MemberSteps {
  toAdd(added: readonly GroupEntry[], hasPatch: boolean, call: ScimCall): ChangeAttempt[];
  toRemove(id: string, hasPatch: boolean, call: ScimCall): ChangeAttempt[];
}

export function createMemberSteps(api: ScimApi, finder: GroupFinder): MemberSteps {
  let emptiesGroups = false;

  const patch = (operation: object, call: ScimCall): ChangeAttempt => ({
    send: (resource) => api.change('PATCH', { type: 'Groups', resource }, toPatch(operation), call),
  });

  /** Writes the whole group, with everything else in it. */
  const put = (edit: (members: unknown[]) => unknown[], call: ScimCall): ChangeAttempt => ({
    async send(resource) {
      const members = rawMembersOf(resource);
      if (members === undefined && !finder.showsMembers()) throw hidesMembers(call.purpose);
      const body = { ...resource, members: edit(members ?? []) };
      await api.change('PUT', { type: 'Groups', resource }, body, call);
    },
  });

  function toAdd(added: readonly GroupEntry[], hasPatch: boolean, call: ScimCall): ChangeAttempt[] {
    const ids = added.map(({ value }) => value);
    const hiding = { ...call, hidden: ids };
    const isOther = (one: unknown) => !isEntryOf(one, ids);
    const whole = put((members) => [...members.filter(isOther), ...added], hiding);
    if (!hasPatch) return [whole];
    return [patch({ op: 'add', path: 'members', value: added }, hiding), whole];
  }

  /** Some strict servers read "remove these members" as "remove all members". */
  async function review(before: Resource, after: Resource | null, id: string, call: ScimCall) {
    const lost = lostBetween(before, after, id);
    if (after === null || lost.length === 0) return;
    emptiesGroups = true;
    const back: ScimCall = { ...call, purpose: 'put the others back into the group' };
    await tryChanges(after, {
      did: 'put them back',
      attempts: toAdd(lost, true, back),
      read: () => finder.byId(after.id, call.signal),
      isDone: (current) => lostBetween(before, current, id).length === 0,
    }).catch((error: unknown) => {
      throw lostOthers(`${lost.length} may be missing now, so run gangway reconcile`, error);
    });
    throw lostOthers(`${lost.length} were put back`);
  }

  return {
    toAdd,

    toRemove(id, hasPatch, call) {
      const hiding = { ...call, hidden: [id] };
      const isOther = (one: unknown) => !isEntryOf(one, [id]);
      const whole = put((members) => members.filter(isOther), hiding);
      if (!hasPatch) return [whole];
      const path = `members[value eq ${JSON.stringify(id)}]`;
      const asRfc = patch({ op: 'remove', path }, hiding);
      const asEntra: ChangeAttempt = {
        ...patch({ op: 'remove', path: 'members', value: [{ value: id }] }, hiding),
        isRisky: true,
        review: (before, after) => review(before, after, id, call),
      };
      return emptiesGroups ? [asRfc, whole] : [asRfc, asEntra, whole];
    },
  };
}

/** The members that have disappeared, without the one that was to be removed. */
function lostBetween(before: Resource, after: Resource | null, id: string): GroupEntry[] {
  const there = after === null ? [] : entriesOf(after).map(({ value }) => value);
  const kept = new Set([...there, id]);
  return entriesOf(before).filter(({ value }) => !kept.has(value));
}

/** If the server does not show the list, writing the group would replace all members. */
function hidesMembers(purpose: string): AppError {
  const why = 'the tool wants the whole group written and has not shown who is in it yet';
  const remedy = 'add a member by hand, and see that the token may read the members';
  return new AppError('invalid', `Could not ${purpose}: ${why}; ${remedy}`);
}

function lostOthers(outcome: string, cause?: unknown): AppError {
  const what = 'Asked to take one out of a group, the tool took others out';
  return new AppError('internal', `${what}: ${outcome}`, { cause });
}
