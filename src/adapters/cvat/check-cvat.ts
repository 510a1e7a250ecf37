import { AppError } from '../../domain/errors.ts';
import type { Finding } from '../adapter.ts';
import { findingsOfExpiry, remedyFrom } from '../check-tool.ts';
import { unless, withRemedy } from '../tool-request.ts';
import { type Cvat, withQuery } from './cvat-api.ts';
import { About, AccessToken, type CvatSettings, Memberships, Organizations, Plugins } from './cvat-schema.ts';

/** The oldest version that the adapter was tried with, and the newest whose API was read. */
const oldest = [2, 54] as const;
const newest = [2, 73] as const;

const remedyOf = remedyFrom({
  url: '"url" must be where CVAT is opened in a browser',
  token:
    'the token is wrong, has expired, was revoked, or was not used for half a year: make a new one in CVAT (Profile, Security), not read-only',
});

/**
 * Checks the address, the version, and the rights of the token.
 *
 * @throws AppError with the cause and what to do about it
 */
export async function checkCvat(cvat: Cvat, signal: AbortSignal): Promise<Finding[]> {
  const { api, settings } = cvat;
  const about = { path: '/api/server/about', purpose: 'ask for the version of CVAT', answer: About, signal };
  const { version } = await withRemedy(api.call(about), remedyOf);
  const findings = findingsOfVersion(version);
  const self = { path: '/api/auth/access_tokens/self', purpose: 'check the token', answer: AccessToken, signal };
  const token = await withRemedy(api.call(self), remedyOf);
  if (token.read_only) {
    throw new AppError(
      'forbidden',
      'The token is read-only, as CVAT makes them by default: make another one without "Read only" (Profile, Security)',
    );
  }
  await withRemedy(checkRole(cvat, token.owner.username, signal), (error) => remedyOfRole(settings, error));
  const isCounted = !settings.analytics || (await hasAnalytics(cvat, signal));
  return [...findings, ...(isCounted ? [] : [noAnalytics]), ...findingsOfExpiry(Date.parse(token.expiry_date ?? ''))];
}

const noAnalytics: Finding = {
  says: 'This CVAT runs without analytics: it records no events, and no work can be read from it.',
  action: 'Set "analytics": false, so that completed jobs are counted; or start CVAT with it.',
  isFailure: false,
};

/** Whether the server records events. A server that does not say may record them. */
export async function hasAnalytics({ api }: Cvat, signal: AbortSignal): Promise<boolean> {
  const call = { path: '/api/server/plugins', purpose: 'ask what CVAT runs with', signal };
  const plugins = await unless([404], api.call({ ...call, answer: Plugins }));
  return plugins?.ANALYTICS !== false;
}

async function checkRole({ api, settings }: Cvat, username: string, signal: AbortSignal): Promise<void> {
  const { organization, role } = settings;
  const path = withQuery('/api/memberships', { org: organization, user: username });
  const { results } = await api.call({ path, purpose: 'check the organization', answer: Memberships, signal });
  const own = results.find(({ user, is_active }) => user?.username === username && is_active);
  if (own?.role === 'owner' || (own?.role === 'maintainer' && role !== 'maintainer')) return;
  const least = role === 'maintainer' ? 'its owner' : 'its owner or a maintainer';
  const is = own === undefined ? 'no member of it' : `a ${own.role}`;
  throw new AppError(
    'forbidden',
    `The account of the token is ${is}; in the organization "${organization}" it must be ${least}`,
  );
}

function remedyOfRole({ organization }: CvatSettings, { status }: AppError): string | undefined {
  if (status === 404) {
    return `there is no organization "${organization}": its short name is in CVAT's list of organizations`;
  }
  return status === 403 ? `the account of the token must be owner or maintainer of "${organization}"` : undefined;
}

function findingsOfVersion(version: string): Finding[] {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version) ?? [];
  const known = [Number(major), Number(minor)] as const;
  const shown = version.slice(0, 40);
  if (major === undefined || known[0] !== oldest[0] || known[1] < oldest[1]) {
    throw new AppError('invalid', `This is CVAT ${shown}: ${oldest.join('.')} or a later 2.x is needed`);
  }
  if (known[1] <= newest[1]) return [];
  const says = `CVAT ${shown} is newer than what Gangway knows (${newest.join('.')}).`;
  return [{ says, action: 'Run "gangway adapter test" against it once.', isFailure: false }];
}

/** Two servers may have an organization with the same name, but not made at the same time. */
export async function identifyCvat({ api, settings }: Cvat, signal: AbortSignal): Promise<string | null> {
  const path = withQuery('/api/organizations', { slug: settings.organization });
  const { results } = await api.call({ path, purpose: 'read the organization', answer: Organizations, signal });
  const own = results.find(({ slug }) => slug === settings.organization);
  return own?.created_date ? `organization ${own.id} of ${own.created_date.slice(0, 40)}` : null;
}
