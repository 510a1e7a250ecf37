import { AppError } from '../../domain/errors.ts';
import type { Adapter, Capabilities } from '../adapter.ts';
import { checkCvat, identifyCvat } from './check-cvat.ts';
import { type Cvat, createCvat, isExactly, listAll, withQuery } from './cvat-api.ts';
import { findCvatMember, isNewcomer, listCvatMembers, removeMember, toMember } from './cvat-members.ts';
import { type CvatSettings, Guide, GuidedPage, toProjectId } from './cvat-schema.ts';
import { endAssignments, type Position } from './end-assignments.ts';
import { inviteMember, renewInvitation } from './invite-member.ts';
import { readEventUsage, readJobUsage } from './read-usage.ts';

/**
 * CVAT, self-hosted. The group is an organization, because CVAT's projects have no members. Work is
 * counted by project.
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

/** The guide of a project, which every job of the project shows. A project has none until one is made. */

async function readGuide(cvat: Cvat, project: string, signal: AbortSignal): Promise<string> {
  const purpose = 'read the guide';
  const id = await findGuide(cvat, project, purpose, signal);
  if (id === null) return '';
  return (await cvat.api.call({ path: `/api/guides/${id}`, purpose, answer: Guide, signal })).markdown;
}

async function writeGuide(cvat: Cvat, project: string, text: string, signal: AbortSignal): Promise<void> {
  const purpose = 'write the guide';
  const id = await findGuide(cvat, project, purpose, signal);
  // CVAT reads this as an image of the guide, and answers 500 if it has no such image.
  const markdown = text.replaceAll('(/api/assets/', '(\\/api/assets/');
  if (id !== null) {
    await cvat.api.call({ method: 'PATCH', path: `/api/guides/${id}`, body: { markdown }, purpose, signal });
  } else if (markdown !== '') {
    // A project has one guide. Of two calls that make it, CVAT answers one 500, and its retry changes that guide.
    const path = withQuery('/api/guides', { org: cvat.settings.organization });
    await cvat.api.call({ method: 'POST', path, body: { project_id: Number(project), markdown }, purpose, signal });
  }
}

/**
 * By the list of the organization, because CVAT also answers about a project of another organization in which the
 * token may do the same.
 *
 * @returns null for a project without a guide
 * @throws AppError `invalid` for an id that is not a number
 */
async function findGuide(cvat: Cvat, project: string, purpose: string, signal: AbortSignal): Promise<number | null> {
  const filters = [isExactly('id', Number(toProjectId(project)))];
  const call = { path: '/api/projects', query: { org: cvat.settings.organization }, filters, purpose, signal };
  for await (const { guide_id: guideId } of listAll(cvat, GuidedPage, call)) return guideId ?? null;
  throw new AppError('not_found', `Could not ${purpose}: the organization has no such project`);
}
