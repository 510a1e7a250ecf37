import type { Adapter, Capabilities } from '../adapter.ts';
import { checkCvat, identifyCvat } from './check-cvat.ts';
import { createCvatApi } from './cvat-api.ts';
import { createCvatGuidelines } from './cvat-guidelines.ts';
import type { CvatSettings } from './cvat-schema.ts';
import { createEndAssignments } from './end-assignments.ts';
import { createCvatMembers, isNewcomer, toMember } from './find-members.ts';
import { createInvites } from './invite-member.ts';
import { readEventUsage, readJobUsage } from './read-usage.ts';
import { createCvatRemoval } from './remove-member.ts';

/**
 * CVAT, self-hosted. The group is an organization, because CVAT's projects have no members. Work is
 * counted by project. The README in this folder explains the decisions.
 */
export function createCvatAdapter(settings: CvatSettings): Adapter {
  const api = createCvatApi(settings);
  const members = createCvatMembers(api);

  return {
    capabilities: toCapabilities(settings),
    check: (signal) => checkCvat(api, settings, signal),
    identify: (signal) => identifyCvat(api, settings, signal),
    groupFor: () => settings.organization,

    async findMember(groupId, person, signal) {
      const found = await members.find(groupId, person, signal);
      return found === null ? null : toMember(found);
    },

    ...createInvites(settings, api, members),
    removeMember: createCvatRemoval(api, members),
    endAssignments: createEndAssignments(settings, api, members),

    async *listMembers(groupId, signal) {
      for await (const member of members.list(groupId, signal)) yield toMember(member);
    },

    async *listNewcomers(groupId, since, signal) {
      for await (const member of members.list(groupId, signal)) {
        if (isNewcomer(member, since)) yield toMember(member);
      }
    },

    usageScopeFor: (link) => link.externalProjectId,

    readUsage: (project, request, signal) =>
      settings.analytics
        ? readEventUsage(api, settings, { project, request, signal })
        : readJobUsage(api, settings, { project, signal }),

    ...createCvatGuidelines(settings, api),
  };
}

function toCapabilities({ analytics }: CvatSettings): Capabilities {
  return {
    removal: { effect: 'locks_out' },
    readding: 'yes',
    exclusive: 'membership',
    invitation: 'own',
    // A removal ends the assignments of the member. The events keep their id.
    usage: analytics
      ? { counts: ['seconds', 'tasks', 'labels'], outlivesRemoval: true }
      : { counts: ['tasks'], outlivesRemoval: false },
    guidelines: 'markdown',
  };
}
