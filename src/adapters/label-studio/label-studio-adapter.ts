import { AppError } from '../../domain/errors.ts';
import type { RestClient } from '../../lib/rest-client.ts';
import type { Adapter, Capabilities, Member } from '../adapter.ts';
import { checkLabelStudio } from './check-label-studio.ts';
import { createLabelStudio, readOrganization, requireProject } from './label-studio-api.ts';
import { Instructions, type LabelStudioSettings } from './label-studio-schema.ts';
import { deleteUser, endMembership, findUser, findUserById, isMember, toMember } from './members.ts';
import { invite, readInvitation, signUp } from './sign-up.ts';
import { readWork } from './work.ts';

/** Label Studio, community edition. The group is the organization, whose members see every project. */
export function createLabelStudioAdapter(settings: LabelStudioSettings): Adapter {
  const studio = createLabelStudio(settings);
  const { api, users } = studio;
  const { onboarding, offboarding, organization } = settings;

  function refuseOthers(groupId: string): void {
    if (groupId === organization) return;
    throw new AppError('invalid', `Only organization ${organization} is configured`);
  }

  return {
    capabilities: toCapabilities(settings),

    check: (signal) => checkLabelStudio(studio, signal),

    async identify(signal) {
      const { created_at: madeAt } = (await readOrganization(studio, signal)) ?? {};
      return madeAt ? `organization ${organization} of ${madeAt.slice(0, 40)}` : null;
    },

    groupFor: () => organization,

    async findMember(groupId, person, signal) {
      refuseOthers(groupId);
      return await findUser(studio, person, signal);
    },

    async addMember(groupId, person, signal) {
      refuseOthers(groupId);
      const found = await findUser(studio, person, signal);
      if (found !== null) return { ...found, account: 'found' };
      return await (onboarding === 'sign_up' ? signUp : invite)(studio, person, signal);
    },

    async removeMember(groupId, member, signal) {
      refuseOthers(groupId);
      await endMembership(studio, member, signal);
    },

    ...(offboarding === 'delete_user' && {
      findAccountById: (id: string, signal: AbortSignal) => findUserById(api, id, signal),

      async removeAccount(groupId: string, member: Member, signal: AbortSignal) {
        refuseOthers(groupId);
        await deleteUser(studio, member, signal);
      },
    }),

    async *listMembers(groupId, signal) {
      refuseOthers(groupId);
      yield* (await users.read(0, signal)).filter(isMember).map(toMember);
    },

    usageScopeFor: ({ externalProjectId }) => externalProjectId,

    readUsage: (scope, request, signal) => readWork(api, scope, request, signal),

    readGuidelines: (project, signal) => readInstructions(api, project, signal),
    writeGuidelines: (project, html, signal) => writeInstructions(api, project, html, signal),

    // Also needed with `sign_up`, because every member can read the link.
    resetInvitations: (_groupId, signal) =>
      api.call({ method: 'POST', path: '/api/invite/reset-token', purpose: 'reset the invite link', signal }),

    ...(onboarding === 'invite_link' && {
      renewInvitation: (_groupId, _member, signal) => readInvitation(studio, signal),
    }),
  };
}

async function readInstructions(api: RestClient, project: string, signal: AbortSignal): Promise<string> {
  const path = `/api/projects/${requireProject(project)}/`;
  const call = { path, purpose: 'read the instructions', signal };
  return (await api.call({ ...call, answer: Instructions })).expert_instruction ?? '';
}

/**
 * Shows them too, before people begin. The HTML must be safe: Label Studio keeps even a `<script>`, and puts the text
 * into its pages as it is.
 */
async function writeInstructions(api: RestClient, project: string, html: string, signal: AbortSignal): Promise<void> {
  const body = { expert_instruction: html, show_instruction: true };
  const path = `/api/projects/${requireProject(project)}/`;
  await api.call({ method: 'PATCH', path, body, purpose: 'write the instructions', signal });
}

const removals = {
  delete_user: { effect: 'locks_out' },
  membership: {
    effect: 'membership_only',
    reason: 'Label Studio (community) lets a removed member back in with their password, or a session that is open',
  },
} satisfies Record<LabelStudioSettings['offboarding'], Capabilities['removal']>;

function toCapabilities({ onboarding, offboarding }: LabelStudioSettings): Capabilities {
  const keepsAccount = offboarding === 'membership';
  return {
    removal: removals[offboarding],
    // The API cannot begin an ended membership again.
    readding: keepsAccount ? 'no' : 'new_account',
    ...(!keepsAccount && { keepingAccount: { removal: removals.membership, readding: 'no' } }),
    exclusive: 'membership',
    invitation: onboarding === 'sign_up' ? 'password' : 'shared',
    usage: { counts: ['seconds', 'tasks', 'labels'], outlivesRemoval: keepsAccount },
    guidelines: 'html',
  };
}
