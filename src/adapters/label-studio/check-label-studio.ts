import { AppError } from '../../domain/errors.ts';
import type { Finding } from '../adapter.ts';
import { remedyFrom } from '../check-tool.ts';
import { withRemedy } from '../tool-request.ts';
import { isPersonalToken, type LabelStudio, readInviteToken, readMe, readOrganization } from './label-studio-api.ts';
import { Version } from './label-studio-schema.ts';
import { isSignUpOpen } from './sign-up.ts';

/** The first and the last version that the adapter was tried with: major and minor. */
const oldest = [1, 20] as const;
const newest = [1, 23] as const;

/** Checks whether Gangway can work with Label Studio, and what an operator should know. */
export async function checkLabelStudio(studio: LabelStudio, signal: AbortSignal): Promise<Finding[]> {
  const { settings, api } = studio;
  // Without the token, which a server at a wrong address must not get.
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
  says: 'The sign-up form is refused although it has the right link, so no new person gets in by it',
  action: 'Behind https, start Label Studio with CSRF_TRUSTED_ORIGINS=<its public address>',
  isFailure: true,
};

async function checkSignUp({ settings: { url }, api }: LabelStudio, signal: AbortSignal): Promise<Finding[]> {
  if (!(await isSignUpOpen(url, await readInviteToken(api, signal), signal))) return [closedForm];
  return (await isSignUpOpen(url, null, signal)) ? [openSignUp] : [];
}

function judgeVersion({ release, edition }: Version): Finding[] {
  if (edition !== undefined && edition !== 'Community') {
    const says = `This is the ${edition.slice(0, 20)} edition, which Gangway was never tried with`;
    const action = 'Rehearse with "gangway adapter test", or use the adapter "scim", which this edition supports';
    return [{ says, action, isFailure: false }];
  }
  const [major = 0, minor = 0] = release.split('.').map(Number);
  const shown = `Label Studio ${release.slice(0, 20)}`;
  const order = major - oldest[0] || minor - oldest[1];
  if (!(order >= 0)) {
    throw new AppError('invalid', `${shown} is too old: it must be ${oldest.join('.')} or newer`);
  }
  const age = major - newest[0] || minor - newest[1];
  if (age === 0) return [];
  if (age > 0) {
    const says = `${shown} is newer than ${newest.join('.')}, the last that Gangway was tried with`;
    return [{ says, action: 'Rehearse with "gangway adapter test" before you rely on it', isFailure: false }];
  }
  const says = `In ${shown} every member may delete every user, also the owner`;
  return [{ says, action: `Update it to ${newest.join('.')}, where only the owner may`, isFailure: false }];
}

/** Label Studio also answers its version below its root, so a wrong path may be noticed only with the token. */
function remedyOf(token: string): (error: AppError) => string | undefined {
  return remedyFrom({
    url: '"url" must be the root of Label Studio, such as https://labels.example.com',
    token: isPersonalToken(token)
      ? 'the personal access token is wrong, revoked, or switched off under Organization > Access Token Settings'
      : 'a legacy token must be switched on under Organization > Access Token Settings; better make a personal access token under Account & Settings',
  });
}
