import { AppError } from '../../domain/errors.ts';
import type { RestClient } from '../../lib/rest-client.ts';
import type { Adapter, Capabilities, Finding, Member } from '../adapter.ts';
import { remedyFrom, withRemedy } from '../tool-request.ts';
import {
  createLabelStudio,
  isMember,
  isPersonalToken,
  type LabelStudio,
  readInviteToken,
  readMe,
  readOrganization,
  readWork,
  requireProject,
  toMember,
} from './label-studio-api.ts';
import { Instructions, type LabelStudioSettings, Version } from './label-studio-schema.ts';
import {
  deleteUser,
  endMembership,
  findUser,
  findUserById,
  invite,
  isSignUpOpen,
  readInvitation,
  signUp,
} from './members.ts';

/** Label Studio, community edition. The group is the organization: its members see every project. */
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
 * Also has them shown before people begin. The HTML must be safe, because Label Studio puts it into its pages as it is,
 * even a `<script>`.
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
    // The API cannot restore a membership that has ended.
    readding: keepsAccount ? 'no' : 'new_account',
    ...(!keepsAccount && { keepingAccount: { removal: removals.membership, readding: 'no' } }),
    exclusive: 'membership',
    invitation: onboarding === 'sign_up' ? 'password' : 'shared',
    usage: { counts: ['seconds', 'tasks', 'labels'], outlivesRemoval: keepsAccount },
    guidelines: 'html',
  };
}

/** The versions that the adapter was tried with: major and minor. */
const oldest = [1, 20] as const;
const newest = [1, 23] as const;

async function checkLabelStudio(studio: LabelStudio, signal: AbortSignal): Promise<Finding[]> {
  const { settings, api } = studio;
  // Without the token, because the URL may lead to another server.
  const call = { path: '/api/version', purpose: 'read its version', isAnonymous: true };
  const version = await withRemedy(api.call({ ...call, answer: Version, signal }), remedyOf(settings.token));
  const tried = judgeVersion(version);
  const me = await withRemedy(readMe(api, signal), remedyOf(settings.token));
  if (me.active_organization !== Number(settings.organization)) {
    throw new AppError(
      'invalid',
      `The token's user is in organization ${me.active_organization}, not ${settings.organization}: set "organization", or switch it in Label Studio`,
    );
  }
  const organization = await readOrganization(studio, signal);
  return [...tried, ...(organization?.created_by === me.id ? [] : [weakToken]), ...(await checkSignUp(studio, signal))];
}

const weakToken: Finding = {
  says: 'The token can add people but not remove them: its user is not the owner of the organization',
  action: 'Make a personal access token as the user who created the organization, and use that',
  isFailure: true,
};

const openSignUp: Finding = {
  says: 'Anyone can sign up, including people who were removed',
  action: 'Start Label Studio with DISABLE_SIGNUP_WITHOUT_LINK=true',
  isFailure: true,
};

const closedForm: Finding = {
  says: 'Label Studio refuses the sign-up form even with the right link, so no new person can sign up',
  action: 'Behind https, start Label Studio with CSRF_TRUSTED_ORIGINS=<its public address>',
  isFailure: true,
};

async function checkSignUp({ settings: { url }, api }: LabelStudio, signal: AbortSignal): Promise<Finding[]> {
  if (!(await isSignUpOpen(url, await readInviteToken(api, signal), signal))) return [closedForm];
  return (await isSignUpOpen(url, null, signal)) ? [openSignUp] : [];
}

function judgeVersion({ release, edition }: Version): Finding[] {
  if (edition !== undefined && edition !== 'Community') {
    const says = `Gangway was never tried with the ${edition.slice(0, 20)} edition`;
    const action = 'Rehearse with "gangway adapter test", or use the adapter "scim", which this edition supports';
    return [{ says, action, isFailure: false }];
  }
  const [major = 0, minor = 0] = release.split('.').map(Number);
  const shown = `Label Studio ${release.slice(0, 20)}`;
  const order = major - oldest[0] || minor - oldest[1];
  if (!(order >= 0)) {
    throw new AppError('invalid', `${shown} is too old: ${oldest.join('.')} or newer is needed`);
  }
  const age = major - newest[0] || minor - newest[1];
  if (age === 0) return [];
  if (age > 0) {
    const says = `${shown} is newer than ${newest.join('.')}, the latest version that Gangway was tried with`;
    return [{ says, action: 'Rehearse with "gangway adapter test" before you rely on it', isFailure: false }];
  }
  const says = `In ${shown} every member can delete every user, including the owner`;
  return [{ says, action: `Update it to ${newest.join('.')}, where only the owner can`, isFailure: false }];
}

/** Label Studio answers its version below its root too, so a wrong path may be noticed only with the token. */
function remedyOf(token: string): (error: AppError) => string | undefined {
  return remedyFrom({
    url: '"url" must be the root of Label Studio, such as https://labels.example.com',
    token: isPersonalToken(token)
      ? 'the personal access token is wrong, revoked, or switched off under Organization > Access Token Settings'
      : 'a legacy token must be switched on under Organization > Access Token Settings; better make a personal access token under Account & Settings',
  });
}
