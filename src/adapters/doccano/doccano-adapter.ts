import type { Adapter, Added, Capabilities } from '../adapter.ts';
import { isNumericId } from '../values.ts';
import { createDoccanoApi, projectPath } from './doccano-api.ts';
import { checkDoccano } from './doccano-check.ts';
import {
  addRow,
  createAccount,
  findAccount,
  findRole,
  findRow,
  listRows,
  readProject,
  recogniseAccount,
  removeRow,
  toMember,
} from './doccano-members.ts';
import type { DoccanoSettings } from './doccano-schema.ts';
import { readDoccanoUsage } from './doccano-usage.ts';

const capabilities: Capabilities = {
  removal: {
    effect: 'membership_only',
    reason:
      'their login stays, because doccano cannot end one: they no longer see the project, but still all usernames, and any example by its id while they are in another project',
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

  return {
    capabilities,
    check: (signal) => checkDoccano(settings, api, signal),
    groupFor: ({ externalProjectId }) => externalProjectId,
    canonicalGroup: (externalProjectId) => (isNumericId(externalProjectId) ? externalProjectId : null),

    async findMember(groupId, { memberId, email }, signal) {
      const known = memberId === null ? null : await findRow(api, groupId, memberId, signal);
      if (known !== null) return toMember(known);
      const user = await findAccount(api, email, signal);
      if (user === null || String(user.id) === memberId) return null;
      const row = await findRow(api, groupId, String(user.id), signal);
      return row && toMember(row);
    },

    async findAccount({ email }, signal) {
      const user = await findAccount(api, email, signal);
      return user && { id: String(user.id), email: user.username };
    },

    async addMember(groupId, person, signal): Promise<Added> {
      const role = await findRole(api, settings.role, signal);
      const found = await findAccount(api, person.email, signal);
      // Logins cannot be deleted, so none is made for a project that does not exist.
      if (found === null) await readProject(api, groupId, signal);
      const { user, isNew } = await (found === null
        ? createAccount(api, person, signal)
        : recogniseAccount(api, person, found, signal));
      await addRow(api, groupId, { user, role }, signal);
      const { id, username } = user;
      return {
        id: String(id),
        email: username,
        ...(isNew && { invitation: { kind: 'password', url: `${settings.url}/auth`, username } }),
      };
    },

    async removeMember(groupId, { id }, signal) {
      const row = await findRow(api, groupId, id, signal);
      if (row !== null) await removeRow(api, groupId, row, signal);
    },

    async *listMembers(groupId, signal) {
      yield* (await listRows(api, groupId, signal)).map(toMember);
    },

    usageScopeFor: ({ externalProjectId }) => externalProjectId,
    readUsage: (scope, _request, signal) => readDoccanoUsage(api, scope, signal),

    /** The guideline that the members of a project open beside an example. */
    readGuidelines: async (project, signal) => (await readProject(api, project, signal)).guideline ?? '',

    async writeGuidelines(project, guideline, signal) {
      const path = projectPath(project);
      await api.call({ method: 'PATCH', path, body: { guideline }, purpose: 'write the guideline', signal });
    },
  };
}
