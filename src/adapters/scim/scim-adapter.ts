import type { Adapter, Capabilities, Member } from '../adapter.ts';
import { checkServer } from './check-server.ts';
import { addGroupMember, removeGroupMember } from './groups.ts';
import { isMember, listMembers, takeMembership } from './memberships.ts';
import { hasAddress, isActive, toMember } from './resource.ts';
import { createScim } from './scim-api.ts';
import type { ScimSettings } from './scim-schema.ts';
import { deactivateUser, findByAddress, findUser, provideUser, readUser } from './users.ts';

/**
 * The adapter for any tool with SCIM 2.0 (RFC 7643 and 7644). Servers differ in what they understand, so
 * every change is requested in one way after the other, and counts only when the server shows it. It
 * never deletes an account.
 */
export function createScimAdapter(settings: ScimSettings): Adapter {
  const scim = createScim(settings);
  const { group, offboarding } = settings;

  return {
    capabilities: toCapabilities(settings),
    check: (signal) => checkServer(scim, signal),

    groupFor: ({ externalProjectId }) => group?.replaceAll('{externalProjectId}', () => externalProjectId) ?? 'users',

    async findMember(groupId, { memberId, email }, signal) {
      const known = memberId === null ? null : await readUser(scim, memberId, signal);
      if (known !== null && (await isMember(scim, groupId, known, signal))) return toMember(known);
      if (known !== null && hasAddress(known, email)) return null;
      const found = await findByAddress(scim, email, signal);
      const isIn = found !== null && (await isMember(scim, groupId, found, signal));
      return isIn ? toMember(found) : null;
    },

    async addMember(groupId, person, signal) {
      const { user, account } = await provideUser(scim, person, signal);
      const added = { id: user.id, othersAdded: person.othersAdded };
      if (group !== null) await addGroupMember(scim, groupId, added, signal);
      return { ...toMember(user), account };
    },

    async findAccount(person, signal) {
      const user = await findUser(scim, person, signal);
      return user && toMember(user);
    },

    removeMember: (groupId, { id }, signal) => takeMembership(scim, groupId, id, signal),

    async findAccountById(id, signal) {
      const user = await readUser(scim, id, signal);
      return user !== null && isActive(user) ? toMember(user) : null;
    },

    ...(offboarding === 'deactivate' && {
      async removeAccount(groupId: string, { id }: Member, signal: AbortSignal) {
        // First, so that they are locked out even if the next step fails.
        await deactivateUser(scim, id, signal);
        if (group !== null) await removeGroupMember(scim, groupId, id, signal);
      },
    }),

    async *listMembers(groupId, signal) {
      for await (const user of listMembers(scim, groupId, signal)) yield toMember(user);
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
