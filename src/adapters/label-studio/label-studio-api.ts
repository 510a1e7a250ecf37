import { AppError } from '../../domain/errors.ts';
import { toInstantText } from '../../domain/marketplace-text.ts';
import { createRestClient, type RestClient } from '../../lib/rest-client.ts';
import { shareReading } from '../../lib/share-reading.ts';
import { pathSegment } from '../../lib/url.ts';
import type { Member, UsageNote, UsageObservation, UsageRequest } from '../adapter.ts';
import { createLogin, type LoggedIn, type ToolClient, unless, withSignal } from '../tool-request.ts';
import { claimsOf, isNumericId } from '../values.ts';
import {
  AccessToken,
  type Annotation,
  Invite,
  type LabelStudioSettings,
  Me,
  Organization,
  TaskPage,
  User,
  Users,
} from './label-studio-schema.ts';

/** What every function needs during one call of the port. */
export interface LabelStudio {
  settings: LabelStudioSettings;
  api: ToolClient;
  /** All users, from a list that several calls share, because Label Studio cannot search by address. */
  readUsers(maxAgeMs: number): Promise<readonly User[]>;
}

/** Label Studio decides the size of a list of users or tasks. */
const maxBytes = 64 * 1024 * 1024;
const maxPages = 10_000;

export function createLabelStudio(settings: LabelStudioSettings): (signal: AbortSignal) => LabelStudio {
  const { url, token } = settings;
  const client: RestClient = createRestClient({
    baseUrl: url,
    authorization: isPersonalToken(token)
      ? { scheme: 'Bearer', token: createLogin((signal) => exchangeToken(withSignal(client, signal), token)) }
      : { scheme: 'Token', token },
    secrets: [token],
    maxBytes,
  });
  const users = shareReading((signal) => Array.fromAsync(listUsers(withSignal(client, signal))));
  return (signal) => ({
    settings,
    api: withSignal(client, signal),
    readUsers: (maxAgeMs) => users.read(maxAgeMs, signal),
  });
}

export async function readMe(api: ToolClient): Promise<Me> {
  const path = '/api/current-user/whoami';
  return await api.call({ path, purpose: 'ask whose token it is', answer: Me });
}

/** The configured organization; null if there is none with this id. */
export async function readOrganization({ settings, api }: LabelStudio): Promise<Organization | null> {
  const path = `/api/organizations/${pathSegment(settings.organization)}`;
  return await unless([404], api.call({ path, purpose: 'read the organization', answer: Organization }));
}

/** Null for a user who was never in the organization. A former member is masked. */
export async function readUser(api: ToolClient, id: string): Promise<User | null> {
  const path = `/api/users/${pathSegment(id)}/`;
  return await unless([404], api.call({ path, purpose: 'read the user', answer: User }));
}

/** All members of the organization, and all former members, who are masked. */
async function* listUsers(api: ToolClient): AsyncGenerator<User> {
  for (let page = 1; page <= maxPages; page += 1) {
    const path = page === 1 ? '/api/users/' : `/api/users/?page=${page}`;
    const { users, hasMore } = await api.call({ path, purpose: 'list the users', answer: Users });
    yield* users;
    if (!hasMore) return;
  }
  throw new AppError('invalid', `Could not list the users: over ${maxPages} pages`);
}

/** The token of the one invite link for everyone. */
export async function readInviteToken(api: ToolClient): Promise<string> {
  return (await api.call({ path: '/api/invite', purpose: 'read the invite link', answer: Invite })).token;
}

/** @throws AppError `invalid` for an id that is not a number */
export function requireProject(project: string): string {
  if (isNumericId(project)) return project;
  throw new AppError('invalid', 'A project is a number in Label Studio');
}

/** The share of its lifetime after which an access token is renewed. */
const usedShare = 0.8;

/**
 * A personal access token is a JSON Web Token, which is exchanged for access tokens that live for minutes. Any other
 * token is a legacy token, which is sent as it is.
 */
export function isPersonalToken(token: string): boolean {
  return claimsOf(token) !== undefined;
}

async function exchangeToken(api: ToolClient, token: string): Promise<LoggedIn> {
  const { access } = await api.call({
    method: 'POST',
    path: '/api/token/refresh/',
    purpose: 'get access with the personal access token',
    body: { refresh: token },
    isAnonymous: true,
    answer: AccessToken,
  });
  // Its lifetime, not its expiry, because the clocks of the two machines may differ.
  const { exp, iat } = claimsOf(access) ?? {};
  const livesForS = typeof exp === 'number' && typeof iat === 'number' ? exp - iat : 0;
  return { token: access, validForMs: livesForS * 1000 * usedShare };
}

/** Former members stay in every list, with the address `Deleted` or a made-up one. */
export function isMember({ id, email }: User): boolean {
  return Boolean(email?.includes('@')) && email !== `deleted-${id}-user@example.com`;
}

export function toMember({ id, email, date_joined: joined }: User): Member {
  const madeAt = toInstantText(joined);
  return { id: String(id), email: email ?? null, ...(madeAt !== undefined && { madeAt }) };
}

const tasksOnPage = 100;
/** The fields of tasks and annotations. Without it, the answer has their data and drafts too. */
const include = 'id,annotations,completed_by,was_cancelled,created_at,updated_at,lead_time,result';

/** The most that a local day begins before the day in UTC. */
const earliestZoneMs = 14 * 3_600_000;
/** The time of a task is a moment later than the time of its annotation. */
const slackMs = 60_000;

/**
 * The annotations of a project, each as one piece of work, and the existing tasks. Tasks are read in the order of their
 * ids, so that none is missed while others are added or deleted. Adding, changing or deleting an annotation changes the
 * time of its task, so unchanged tasks need not be read.
 *
 * @throws AppError `invalid` for an id that is not a number, `not_found` for a project that does not exist
 */
export async function* readWork(
  api: ToolClient,
  project: string,
  request: UsageRequest,
): AsyncGenerator<UsageObservation | UsageNote> {
  requireProject(project);
  const addressOf = createAddressBook(api);
  for await (const { id, annotations } of readTasks(api, project, sinceOf(request))) {
    yield { of: 'task', taskId: String(id), isWhole: true };
    for (const annotation of annotations) {
      const observation = toObservation(String(id), annotation);
      if (observation !== null) yield { ...observation, email: await addressOf(observation.memberId) };
    }
  }
}

/** Tasks have only the ids of people. For an unknown id, the list of users is read again, because they may be new. */
function createAddressBook(api: ToolClient) {
  const known = new Map<string, string | null>();
  return async (memberId: string): Promise<string | null> => {
    if (!known.has(memberId)) {
      for await (const user of listUsers(api)) {
        const { id, email } = toMember(user);
        known.set(id, isMember(user) ? email : null);
      }
    }
    const email = known.get(memberId) ?? null;
    known.set(memberId, email);
    return email;
  };
}

async function* readTasks(
  api: ToolClient,
  project: string,
  updatedSince: string,
): AsyncGenerator<TaskPage['tasks'][number]> {
  let afterId = 0;
  for (;;) {
    const path = `/api/tasks/?${toSearch(project, afterId, updatedSince)}`;
    const { tasks, total } = await api.call({ path, purpose: 'read the work', answer: TaskPage });
    yield* tasks;
    // `total` is the number of tasks after `afterId`, including this page.
    if (total <= tasks.length) return;
    const lastId = tasks.at(-1)?.id ?? 0;
    if (lastId <= afterId) {
      throw new AppError('unavailable', `Could not read the work: ${total} tasks were not sent`);
    }
    afterId = lastId;
  }
}

/** By id and not by page number, because a task may move to a page that was read already. */
function toSearch(project: string, afterId: number, updatedSince: string): URLSearchParams {
  const items = [
    { filter: 'filter:tasks:id', operator: 'greater', type: 'Number', value: afterId },
    { filter: 'filter:tasks:updated_at', operator: 'greater_or_equal', type: 'Datetime', value: updatedSince },
  ];
  const query = { filters: { conjunction: 'and', items }, ordering: ['tasks:id'] };
  return new URLSearchParams({
    project,
    fields: 'all',
    include,
    page: '1',
    page_size: String(tasksOnPage),
    query: JSON.stringify(query),
  });
}

function sinceOf({ firstDay, changedSince }: UsageRequest): string {
  const firstMs = Date.parse(firstDay) - earliestZoneMs;
  const changedMs = changedSince === null ? firstMs : Date.parse(changedSince) - slackMs;
  return new Date(Math.max(firstMs, changedMs)).toISOString();
}

/** Null if the user was deleted. */
function toObservation(taskId: string, annotation: Annotation): UsageObservation | null {
  const { id, completed_by: memberId, created_at: doneAt, updated_at: changedAt } = annotation;
  if (memberId === null) return null;
  // A skipped task took time, but has no result.
  const isSkipped = annotation.was_cancelled === true;
  return {
    of: 'item',
    memberId: String(memberId),
    itemId: String(id),
    taskId,
    doneAt,
    changedAt,
    ...(typeof annotation.lead_time === 'number' && { seconds: Math.max(annotation.lead_time, 0) }),
    tasks: isSkipped ? 0 : 1,
    labels: isSkipped ? 0 : countRegions(annotation.result ?? []),
  };
}

/** An entry without an id, which imports and scripts may write, is a region of its own. A relation is not a region. */
function countRegions(result: NonNullable<Annotation['result']>): number {
  const entries = result.filter(({ type }) => type !== 'relation');
  const ids = entries.flatMap(({ id }) => id ?? []);
  return new Set(ids).size + entries.length - ids.length;
}
