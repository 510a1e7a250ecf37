import { AppError } from '../../domain/errors.ts';
import { shareReading } from '../../lib/share-reading.ts';
import type { Adapter, Capabilities } from '../adapter.ts';
import { checkLabelStudio } from './check-label-studio.ts';
import { findUser, isMember, toMember } from './find-user.ts';
import { createLabelStudioApi } from './label-studio-api.ts';
import type { LabelStudioSettings } from './label-studio-schema.ts';
import { invite, type OnboardDeps, signUp, toInvitation } from './onboard.ts';
import { createLabelStudioRemoval } from './remove-member.ts';
import { createSignUpPage } from './sign-up.ts';
import { readWork } from './work.ts';

/**
 * Label Studio, community edition. The group is the organization, whose members see every project. The
 * README in this folder says what it cannot do, and what follows from that.
 */
export function createLabelStudioAdapter(settings: LabelStudioSettings): Adapter {
  const api = createLabelStudioApi(settings);
  const page = createSignUpPage(settings.url);
  const { onboarding, organization, publicUrl = settings.url } = settings;
  const users = shareReading((signal) => Array.fromAsync(api.users(signal)));
  const deps: OnboardDeps = { api, users, page, publicUrl };

  function refuseOthers(groupId: string): void {
    if (groupId === organization) return;
    throw new AppError('invalid', `Only organization ${organization} is configured`);
  }

  return {
    capabilities: toCapabilities(settings),

    check: (signal) => checkLabelStudio(settings, api, page, signal),

    async identify(signal) {
      const { created_at: madeAt } = (await api.organization(organization, signal)) ?? {};
      return madeAt ? `organization ${organization} of ${madeAt.slice(0, 40)}` : null;
    },

    groupFor: () => organization,

    async findMember(groupId, person, signal) {
      refuseOthers(groupId);
      return await findUser(api, users, person, signal);
    },

    async addMember(groupId, person, signal) {
      refuseOthers(groupId);
      const found = await findUser(api, users, person, signal);
      if (found !== null) return { ...found, account: 'found' };
      if (onboarding === 'sign_up') return await signUp(deps, person, signal);
      return await invite(deps, person, signal);
    },

    ...createLabelStudioRemoval(settings, { api, users }, refuseOthers),

    async *listMembers(groupId, signal) {
      refuseOthers(groupId);
      yield* (await users.read(0, signal)).filter(isMember).map(toMember);
    },

    usageScopeFor: ({ externalProjectId }) => externalProjectId,

    readUsage: (scope, request, signal) => readWork(api, scope, request, signal),

    readGuidelines: (project, signal) => api.instructions(project, signal),
    writeGuidelines: (project, html, signal) => api.setInstructions(project, html, signal),

    // Also needed with `sign_up`, because every member can read the link.
    resetInvitations: (_groupId, signal) => api.resetInviteToken(signal),

    ...(onboarding === 'invite_link' && {
      renewInvitation: (_groupId, _member, signal) => toInvitation(deps, signal),
    }),
  };
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
