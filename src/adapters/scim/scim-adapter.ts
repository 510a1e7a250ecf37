import { systemClock } from '../../lib/clock.ts';
import type { Adapter, Capabilities, Member } from '../adapter.ts';
import { createCheck } from './check-server.ts';
import { createDiscovery } from './discovery.ts';
import { createGroups } from './groups.ts';
import { accountMemberships, groupMemberships } from './memberships.ts';
import { hasAddress, isActive, type Resource, toMember } from './resource.ts';
import { createScimApi } from './scim-api.ts';
import type { ScimSettings } from './scim-schema.ts';
import { createSearch } from './search.ts';
import { createUsers } from './users.ts';

/**
 * The adapter for any tool with SCIM 2.0 (RFC 7643 and 7644). Servers differ in what they understand, so
 * every change is requested in one way after the other, and counts only when the server shows it. It
 * never deletes an account.
 */
export function createScimAdapter(settings: ScimSettings): Adapter {
  const api = createScimApi(settings);
  const discovery = createDiscovery(api);
  const search = createSearch(api, discovery);
  const users = createUsers(api, search, discovery);
  const groups = createGroups({ api, search, discovery, settings });
  const { group, offboarding } = settings;
  const hasGroups = group !== null;
  const memberships = hasGroups ? groupMemberships(users, groups) : accountMemberships(users);

  const isMember = async (groupId: string, user: Resource, signal: AbortSignal) =>
    isActive(user) && (await memberships.has(groupId, user, signal));

  return {
    capabilities: toCapabilities(settings),
    check: createCheck({ settings, api, discovery, search, groups, clock: systemClock }),

    groupFor: ({ externalProjectId }) => group?.replaceAll('{externalProjectId}', () => externalProjectId) ?? 'users',

    async findMember(groupId, { memberId, email }, signal) {
      const known = memberId === null ? null : await users.byId(memberId, signal);
      if (known !== null && (await isMember(groupId, known, signal))) return toMember(known);
      if (known !== null && hasAddress(known, email)) return null;
      const found = await users.byAddress(email, signal);
      const isIn = found !== null && (await isMember(groupId, found, signal));
      return isIn ? toMember(found) : null;
    },

    async addMember(groupId, person, signal) {
      const { user, account } = await users.provide(person, signal);
      await memberships.give(groupId, user.id, person.othersAdded, signal);
      return { ...toMember(user), account };
    },

    async findAccount(person, signal) {
      const user = await users.find(person, signal);
      return user === null ? null : toMember(user);
    },

    removeMember: (groupId, { id }, signal) => memberships.take(groupId, id, signal),

    async findAccountById(id, signal) {
      const user = await users.byId(id, signal);
      return user !== null && isActive(user) ? toMember(user) : null;
    },

    ...(offboarding === 'deactivate' && {
      async removeAccount(groupId: string, { id }: Member, signal: AbortSignal) {
        // First, so that they are locked out even if the next step fails.
        await users.deactivate(id, signal);
        if (hasGroups) await groups.remove(groupId, id, signal);
      },
    }),

    async *listMembers(groupId, signal) {
      for await (const user of memberships.list(groupId, signal)) yield toMember(user);
    },
  };
}

function toCapabilities({ group, offboarding }: ScimSettings): Capabilities {
  const reason = 'their account stays active, only their membership of the group is gone';
  return {
    removal: offboarding === 'deactivate' ? { effect: 'locks_out' } : { effect: 'membership_only', reason },
    readding: 'yes',
    // Not every server shows who is in a group.
    ...(group !== null && { removesUnseen: true }),
    ...(offboarding === 'deactivate' && {
      keepingAccount: { removal: { effect: 'membership_only', reason }, readding: 'yes' },
    }),
    // If a group is written as a whole, two calls at the same time would undo each other.
    exclusive: group === null ? 'membership' : 'group',
    invitation: 'none',
  };
}
