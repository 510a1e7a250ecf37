import type { Adapter, Capabilities } from '../adapter.ts';
import { checkCvat, identifyCvat } from './check-cvat.ts';
import { createCvat } from './cvat-api.ts';
import { readGuide, writeGuide } from './cvat-guidelines.ts';
import { findCvatMember, isNewcomer, listCvatMembers, removeMember, toMember } from './cvat-members.ts';
import type { CvatSettings } from './cvat-schema.ts';
import { endAssignments, type Position } from './end-assignments.ts';
import { inviteMember, renewInvitation } from './invite-member.ts';
import { readEventUsage, readJobUsage } from './read-usage.ts';

/**
 * CVAT, self-hosted. The group is an organization, because CVAT's projects have no members. Work is
 * counted by project. The README in this folder explains the decisions.
 */
export function createCvatAdapter(settings: CvatSettings): Adapter {
  const cvat = createCvat(settings);
  const positions = new Map<string, Position>();

  return {
    capabilities: toCapabilities(settings),
    check: (signal) => checkCvat(cvat, signal),
    identify: (signal) => identifyCvat(cvat, signal),
    groupFor: () => settings.organization,

    async findMember(groupId, person, signal) {
      const found = await findCvatMember(cvat, groupId, person, signal);
      return found && toMember(found);
    },

    addMember: (groupId, person, signal) => inviteMember(cvat, groupId, person, signal),
    renewInvitation: (groupId, member, signal) => renewInvitation(cvat, groupId, member, signal),
    removeMember: (groupId, member, signal) => removeMember(cvat, groupId, member, signal),
    endAssignments: (groupId, member, project, signal) =>
      endAssignments(cvat, positions, { groupId, member, project }, signal),

    async *listMembers(groupId, signal) {
      for await (const member of listCvatMembers(cvat, groupId, { signal })) yield toMember(member);
    },

    async *listNewcomers(groupId, since, signal) {
      for await (const member of listCvatMembers(cvat, groupId, { signal })) {
        if (isNewcomer(member, since)) yield toMember(member);
      }
    },

    usageScopeFor: (link) => link.externalProjectId,

    readUsage: (project, request, signal) =>
      settings.analytics ? readEventUsage(cvat, project, request, signal) : readJobUsage(cvat, project, signal),

    readGuidelines: (project, signal) => readGuide(cvat, project, signal),
    writeGuidelines: (project, text, signal) => writeGuide(cvat, project, text, signal),
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
