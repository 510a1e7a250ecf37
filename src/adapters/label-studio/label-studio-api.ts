import { AppError } from '../../domain/errors.ts';
import { createRestClient, type RestClient } from '../../lib/rest-client.ts';
import { type SharedReading, shareReading } from '../../lib/share-reading.ts';
import { pathSegment } from '../../lib/url.ts';
import { createLogin, type LoggedIn, unless } from '../tool-request.ts';
import { claimsOf, isNumericId } from '../values.ts';
import { AccessToken, Invite, type LabelStudioSettings, Me, Organization, User, Users } from './label-studio-schema.ts';

/** What every call to Label Studio needs. */
export interface LabelStudio {
  settings: LabelStudioSettings;
  api: RestClient;
  /** The list of all users. It is shared because Label Studio has no search by address. */
  users: SharedReading<readonly User[]>;
}

/** Label Studio decides the size of a list of users or tasks. */
const maxBytes = 64 * 1024 * 1024;
const maxPages = 10_000;

export function createLabelStudio(settings: LabelStudioSettings): LabelStudio {
  const { url, token } = settings;
  const api: RestClient = createRestClient({
    baseUrl: url,
    authorization: isPersonalToken(token)
      ? { scheme: 'Bearer', token: createLogin((signal) => exchangeToken(api, token, signal)) }
      : { scheme: 'Token', token },
    secrets: [token],
    maxBytes,
  });
  const users = shareReading((signal) => Array.fromAsync(listUsers(api, signal)));
  return { settings, api, users };
}

export async function readMe(api: RestClient, signal: AbortSignal): Promise<Me> {
  const path = '/api/current-user/whoami';
  return await api.call({ path, purpose: 'ask whose token it is', answer: Me, signal });
}

/** The configured organization; null if there is none with this id. */
export async function readOrganization(
  { settings, api }: LabelStudio,
  signal: AbortSignal,
): Promise<Organization | null> {
  const path = `/api/organizations/${pathSegment(settings.organization)}`;
  return await unless([404], api.call({ path, purpose: 'read the organization', answer: Organization, signal }));
}

/** Null for a user who never was in the organization. A former member is masked. */
export async function readUser(api: RestClient, id: string, signal: AbortSignal): Promise<User | null> {
  const path = `/api/users/${pathSegment(id)}/`;
  return await unless([404], api.call({ path, purpose: 'read the user', answer: User, signal }));
}

/** All members of the organization, and all former members, masked. */
export async function* listUsers(api: RestClient, signal: AbortSignal): AsyncGenerator<User> {
  for (let page = 1; page <= maxPages; page += 1) {
    const path = page === 1 ? '/api/users/' : `/api/users/?page=${page}`;
    const { users, hasMore } = await api.call({ path, purpose: 'list the users', answer: Users, signal });
    yield* users;
    if (!hasMore) return;
  }
  throw new AppError('invalid', `Could not list the users: over ${maxPages} pages`);
}

/** The token in the one link for all people. */
export async function readInviteToken(api: RestClient, signal: AbortSignal): Promise<string> {
  return (await api.call({ path: '/api/invite', purpose: 'read the invite link', answer: Invite, signal })).token;
}

/** @throws AppError `invalid` for an id that is not a number */
export function requireProject(project: string): string {
  if (isNumericId(project)) return project;
  throw new AppError('invalid', 'A project is a number in Label Studio');
}

/** An access token is renewed after this share of its life. */
const usedShare = 0.8;

/**
 * A personal access token is a JSON Web Token that is exchanged for access for some minutes. Every other
 * token is a legacy token and is sent as it is.
 */
export function isPersonalToken(token: string): boolean {
  return claimsOf(token) !== undefined;
}

async function exchangeToken(api: RestClient, token: string, signal: AbortSignal): Promise<LoggedIn> {
  const { access } = await api.call({
    method: 'POST',
    path: '/api/token/refresh/',
    purpose: 'get access with the personal access token',
    body: { refresh: token },
    isAnonymous: true,
    answer: AccessToken,
    signal,
  });
  // The time from issue to expiry, because the clocks of the two machines may differ.
  const { exp, iat } = claimsOf(access) ?? {};
  const livesForS = typeof exp === 'number' && typeof iat === 'number' ? exp - iat : 0;
  return { token: access, validForMs: livesForS * 1000 * usedShare };
}
