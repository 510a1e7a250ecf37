import { AppError } from '../../domain/errors.ts';
import type { Groups } from './groups.ts';
import type { OthersAdded } from './member-steps.ts';
import { entriesOf, groupsOf, isActive, memberIds, namesGroup, type Resource } from './resource.ts';
import type { Users } from './users.ts';

/** What makes a person with an active account a member. */
export interface Memberships {
  has(groupId: string, user: Resource, signal: AbortSignal): Promise<boolean>;
  give(groupId: string, userId: string, othersAdded: OthersAdded, signal: AbortSignal): Promise<void>;
  /** @returns `unproven` if nothing in the tool shows who is in the group */
  take(groupId: string, userId: string, signal: AbortSignal): Promise<'unproven' | undefined>;
  list(groupId: string, signal: AbortSignal): AsyncGenerator<Resource>;
}

export function groupMemberships(users: Users, groups: Groups): Memberships {
  return {
    async has(groupId, user, signal) {
      const group = await groups.read(groupId, signal);
      if (group === null) return false;
      const ids = memberIds(group);
      // A list without anyone may be hidden. Then the account may show its groups.
      return ids.has(user.id) || (entriesOf(group).length === 0 && namesGroup(user, group.id));
    },

    give: (groupId, userId, othersAdded, signal) => groups.add(groupId, userId, othersAdded, signal),

    async take(groupId, userId, signal) {
      if ((await groups.remove(groupId, userId, signal)) === undefined) return undefined;
      const user = await users.byId(userId, signal);
      // An account that names its groups shows the next look whether it is still in this one.
      const isShown = user === null || !isActive(user) || groupsOf(user).length > 0;
      return isShown ? undefined : 'unproven';
    },

    async *list(groupId, signal) {
      const group = await groups.read(groupId, signal);
      const ids = group === null ? new Set<string>() : memberIds(group);
      if (ids.size === 0) return;
      for await (const user of readEach(users, ids, signal)) {
        if (isActive(user)) yield user;
      }
    },
  };
}

/** From the list of all, which needs fewer calls; those that it missed because it changed, one by one. */
async function* readEach(users: Users, ids: Set<string>, signal: AbortSignal): AsyncGenerator<Resource> {
  for await (const user of users.all(signal)) if (ids.delete(user.id)) yield user;
  for (const id of ids) {
    const user = await users.byId(id, signal);
    if (user !== null) yield user;
  }
}

const nothingElse =
  'Their account is all there is to take away here, and it is not ended: it is not known to be made by Gangway, or customers share the tool';

/** Without groups an active account is the membership. A removal ends the account or does nothing. */
export function accountMemberships(users: Users): Memberships {
  return {
    has: () => Promise.resolve(true),
    give: () => Promise.resolve(),
    async take(_, userId, signal) {
      const user = await users.byId(userId, signal);
      if (user === null || !isActive(user)) return undefined;
      throw new AppError('conflict', nothingElse);
    },

    async *list(_, signal) {
      const seen = new Set<string>();
      for await (const user of users.all(signal)) {
        if (seen.has(user.id) || !isActive(user)) continue;
        seen.add(user.id);
        yield user;
      }
    },
  };
}
