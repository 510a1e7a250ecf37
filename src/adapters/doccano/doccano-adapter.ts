import type { Adapter, Added, Capabilities } from '../adapter.ts';
import { createDoccanoAccounts } from './doccano-accounts.ts';
import { createDoccanoApi } from './doccano-api.ts';
import { checkDoccano } from './doccano-check.ts';
import { createDoccanoGuidelines } from './doccano-guidelines.ts';
import { createDoccanoMembers, findRole, toMember } from './doccano-members.ts';
import type { DoccanoSettings } from './doccano-schema.ts';
import { readDoccanoUsage } from './doccano-usage.ts';

const capabilities: Capabilities = {
  removal: {
    effect: 'membership_only',
    reason:
      'their login stays, as doccano has no way to end one: they see the project no more, but every username, and by its id any example as long as they are in another project',
  },
  readding: 'yes',
  exclusive: 'membership',
  invitation: 'password',
  // Confirmed examples are counted for good, but labels only for members.
  usage: { counts: ['tasks', 'labels'], outlivesRemoval: false },
  guidelines: 'markdown',
};

/**
 * doccano: a group is a project, and a member is an account in it. The username identifies a person. It
 * is their address in lower case, because doccano's API shows no addresses.
 */
export function createDoccanoAdapter(settings: DoccanoSettings): Adapter {
  const api = createDoccanoApi(settings);
  const accounts = createDoccanoAccounts(settings, api);
  const members = createDoccanoMembers(api);

  return {
    capabilities,
    check: (signal) => checkDoccano(settings, api, signal),
    groupFor: ({ externalProjectId }) => externalProjectId,
    canonicalGroup: (externalProjectId) => (/^[1-9]\d{0,14}$/.test(externalProjectId) ? externalProjectId : null),

    async findMember(groupId, { memberId, email }, signal) {
      const known = memberId === null ? null : await members.find(groupId, memberId, signal);
      if (known !== null) return toMember(known);
      const user = await accounts.find(email, signal);
      if (user === null || String(user.id) === memberId) return null;
      const row = await members.find(groupId, String(user.id), signal);
      return row === null ? null : toMember(row);
    },

    async findAccount({ email }, signal) {
      const user = await accounts.find(email, signal);
      return user === null ? null : { id: String(user.id), email: user.username };
    },

    async addMember(groupId, person, signal): Promise<Added> {
      const role = await findRole(api, settings.role, signal);
      const found = await accounts.find(person.email, signal);
      // Logins cannot be deleted, so none is made for a project that does not exist.
      if (found === null) await members.checkProject(groupId, signal);
      const { user, isNew } =
        found === null ? await accounts.create(person, signal) : await accounts.recognise(person, found, signal);
      await members.add(groupId, user, role, signal);
      const { id, username } = user;
      return {
        id: String(id),
        email: username,
        ...(isNew && { invitation: { kind: 'password', url: `${settings.url}/auth`, username } }),
      };
    },

    async removeMember(groupId, { id }, signal) {
      const row = await members.find(groupId, id, signal);
      if (row !== null) await members.remove(groupId, row, signal);
    },

    async *listMembers(groupId, signal) {
      const rows = await members.list(groupId, signal);
      yield* rows.map(toMember);
    },

    usageScopeFor: ({ externalProjectId }) => externalProjectId,
    readUsage: (scope, _request, signal) => readDoccanoUsage(api, scope, signal),

    ...createDoccanoGuidelines(api),
  };
}
