import { AppError } from '../../domain/errors.ts';
import type { Adapter, Capabilities, Finding, Member } from '../adapter.ts';
import { remedyFrom, type ToolClient, withRemedy } from '../tool-request.ts';
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
  const { onboarding, offboarding, organization } = settings;

  function openGroup(groupId: string, signal: AbortSignal): LabelStudio {
    if (groupId === organization) return studio(signal);
    throw new AppError('invalid', `Only organization ${organization} is configured`);
  }

  return {
    capabilities: toCapabilities(settings),

    check: (signal) => checkLabelStudio(studio(signal)),

    async identify(signal) {
      const { created_at: madeAt } = (await readOrganization(studio(signal))) ?? {};
      return madeAt ? `organization ${organization} of ${madeAt.slice(0, 40)}` : null;
    },

    groupFor: () => organization,

    findMember: async (groupId, person, signal) => await findUser(openGroup(groupId, signal), person),

    async addMember(groupId, person, signal) {
      const group = openGroup(groupId, signal);
      const found = await findUser(group, person);
      if (found !== null) return { ...found, account: 'found' };
      return await (onboarding === 'sign_up' ? signUp : invite)(group, person);
    },

    removeMember: async (groupId, member, signal) => await endMembership(openGroup(groupId, signal), member),

    ...(offboarding === 'delete_user' && {
      findAccountById: (id: string, signal: AbortSignal) => findUserById(studio(signal).api, id),

      removeAccount: async (groupId: string, member: Member, signal: AbortSignal) =>
        await deleteUser(openGroup(groupId, signal), member),
    }),

    async *listMembers(groupId, signal) {
      yield* (await openGroup(groupId, signal).readUsers(0)).filter(isMember).map(toMember);
    },

    usageScopeFor: ({ externalProjectId }) => externalProjectId,

    readUsage: (scope, request, signal) => readWork(studio(signal).api, scope, request),

    readGuidelines: (project, signal) => readInstructions(studio(signal).api, project),
    writeGuidelines: (project, html, signal) => writeInstructions(studio(signal).api, project, html),

    // Also needed with `sign_up`, because every member can read the link.
    resetInvitations: (_groupId, signal) =>
      studio(signal).api.call({ method: 'POST', path: '/api/invite/reset-token', purpose: 'reset the invite link' }),

    ...(onboarding === 'invite_link' && {
      renewInvitation: (_groupId, _member, signal) => readInvitation(studio(signal)),
    }),
  };
}

async function readInstructions(api: ToolClient, project: string): Promise<string> {
  const path = `/api/projects/${requireProject(project)}/`;
  const call = { path, purpose: 'read the instructions' };
  return (await api.call({ ...call, answer: Instructions })).expert_instruction ?? '';
}

/**
 * Also has them shown before people begin. The HTML must be safe, because Label Studio puts it into its pages as it is,
 * even a `<script>`.
 */
async function writeInstructions(api: ToolClient, project: string, html: string): Promise<void> {
  const body = { expert_instruction: html, show_instruction: true };
  const path = `/api/projects/${requireProject(project)}/`;
  await api.call({ method: 'PATCH', path, body, purpose: 'write the instructions' });
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

async function checkLabelStudio(studio: LabelStudio): Promise<Finding[]> {
  const { settings, api } = studio;
  // Without the token, because the URL may lead to another server.
  const call = { path: '/api/version', purpose: 'read its version', isAnonymous: true };
  const version = await withRemedy(api.call({ ...call, answer: Version }), remedyOf(settings.token));
  const tried = judgeVersion(version);
  const me = await withRemedy(readMe(api), remedyOf(settings.token));
  if (me.active_organization !== Number(settings.organization)) {
    throw new AppError(
      'invalid',
      `The token's user is in organization ${me.active_organization}, not ${settings.organization}: set "organization", or switch it in Label Studio`,
    );
  }
  const organization = await readOrganization(studio);
  return [...tried, ...(organization?.created_by === me.id ? [] : [weakToken]), ...(await checkSignUp(studio))];
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

async function checkSignUp(studio: LabelStudio): Promise<Finding[]> {
  if (!(await isSignUpOpen(studio, await readInviteToken(studio.api)))) return [closedForm];
  return (await isSignUpOpen(studio, null)) ? [openSignUp] : [];
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
