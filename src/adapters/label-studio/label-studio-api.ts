import { AppError } from '../../domain/errors.ts';
import { pathSegment } from '../../lib/path-segment.ts';
import { createRestClient, type RestCall, type Schema } from '../../lib/rest-client.ts';
import { unless } from '../tool-request.ts';
import { createAuthorization } from './access-token.ts';
import {
  Instructions,
  Invite,
  type LabelStudioSettings,
  Me,
  Organization,
  TaskPage,
  User,
  Users,
  Version,
} from './label-studio-schema.ts';

/** The calls to Label Studio. */
export interface LabelStudioApi {
  version(signal: AbortSignal): Promise<Version>;
  me(signal: AbortSignal): Promise<Me>;
  /** The user who has just signed up. */
  meBySession(session: string, signal: AbortSignal): Promise<Me>;
  /** Null if there is none with this id. */
  organization(id: string, signal: AbortSignal): Promise<Organization | null>;
  /** Null for a user who never was in the organization. A former member is masked. */
  user(id: string, signal: AbortSignal): Promise<User | null>;
  /** All members of the organization, and all former members, masked. There is no search by address. */
  users(signal: AbortSignal): AsyncIterable<User>;
  deleteUser(id: string, signal: AbortSignal): Promise<void>;
  deleteMembership(organization: string, id: string, signal: AbortSignal): Promise<void>;
  /** The token in the one link for all people. */
  inviteToken(signal: AbortSignal): Promise<string>;
  resetInviteToken(signal: AbortSignal): Promise<void>;
  taskPage(query: TaskQuery, signal: AbortSignal): Promise<TaskPage>;
  /** Of a project; empty if it has none. */
  instructions(project: string, signal: AbortSignal): Promise<string>;
  /** Shows them too, before people begin. */
  setInstructions(project: string, html: string, signal: AbortSignal): Promise<void>;
}

export interface TaskQuery {
  project: string;
  /** Only tasks with a greater id, in the order of their ids. */
  afterId: number;
  /** Only tasks that were changed at or after this instant. */
  updatedSince: string;
}

/** Label Studio decides the size of a list of users or tasks. */
const maxBytes = 64 * 1024 * 1024;
const tasksOnPage = 100;
const maxPages = 10_000;

/** The fields of tasks and of annotations. Without it the answer has their data and drafts too. */
const include = 'id,annotations,completed_by,was_cancelled,created_at,updated_at,lead_time,result';

export function createLabelStudioApi(settings: LabelStudioSettings): LabelStudioApi {
  const { client, read, readOrNull, remove } = createCalls(settings);
  return {
    // Without the token, which a server at a wrong address must not get.
    version: (signal) =>
      read(Version, { path: '/api/version', purpose: 'read its version', isAnonymous: true, signal }),

    me: (signal) => read(Me, { path: '/api/current-user/whoami', purpose: 'ask whose token it is', signal }),

    meBySession: (session, signal) =>
      read(Me, {
        path: '/api/current-user/whoami',
        purpose: 'ask who was signed up',
        headers: { cookie: `sessionid=${session}` },
        isAnonymous: true,
        secrets: [session],
        signal,
      }),

    organization(id, signal) {
      const path = `/api/organizations/${pathSegment(id)}`;
      return readOrNull(Organization, { path, purpose: 'read the organization', signal });
    },

    user(id, signal) {
      const path = `/api/users/${pathSegment(id)}/`;
      return readOrNull(User, { path, purpose: 'read the user', signal });
    },

    async *users(signal) {
      for (let page = 1; page <= maxPages; page += 1) {
        const path = page === 1 ? '/api/users/' : `/api/users/?page=${page}`;
        const { users, hasMore } = await read(Users, { path, purpose: 'list the users', signal });
        yield* users;
        if (!hasMore) return;
      }
      throw new AppError('invalid', `Could not list the users: over ${maxPages} pages`);
    },

    deleteUser(id, signal) {
      const path = `/api/users/${pathSegment(id)}/`;
      return remove({ path, purpose: 'delete the user', signal });
    },

    deleteMembership(organization, id, signal) {
      const members = `/api/organizations/${pathSegment(organization)}/memberships`;
      const path = `${members}/${pathSegment(id)}/`;
      return remove({ path, purpose: 'end the membership', signal });
    },

    async inviteToken(signal) {
      const call = { path: '/api/invite', purpose: 'read the invite link', signal };
      return (await read(Invite, call)).token;
    },

    resetInviteToken: (signal) =>
      client.call({ method: 'POST', path: '/api/invite/reset-token', purpose: 'reset the invite link', signal }),

    taskPage: (query, signal) =>
      read(TaskPage, { path: `/api/tasks/?${toSearch(query)}`, purpose: 'read the work', signal }),

    async instructions(project, signal) {
      const call = { path: projectPath(project), purpose: 'read the instructions', signal };
      return (await read(Instructions, call)).expert_instruction ?? '';
    },

    setInstructions(project, html, signal) {
      const body = { expert_instruction: html, show_instruction: true };
      const path = projectPath(project);
      return client.call({ method: 'PATCH', path, body, purpose: 'write the instructions', signal });
    },
  };
}

function createCalls(settings: LabelStudioSettings) {
  const client = createRestClient({
    baseUrl: settings.url,
    authorization: createAuthorization(settings),
    secrets: [settings.token],
    maxBytes,
  });

  async function read<T>(answer: Schema<T>, call: RestCall<T>): Promise<T> {
    return await client.call({ ...call, answer });
  }

  async function readOrNull<T>(answer: Schema<T>, call: RestCall<T>): Promise<T | null> {
    return await unless([404], read(answer, call));
  }

  /** What does not exist any more is removed. */
  async function remove(call: RestCall<void>): Promise<void> {
    await unless([404], client.call({ ...call, method: 'DELETE' }));
  }

  return { client, read, readOrNull, remove };
}

/** @throws AppError `invalid` for an id that is no number */
function projectPath(project: string): string {
  if (/^[1-9]\d{0,14}$/.test(project)) return `/api/projects/${project}/`;
  throw new AppError('invalid', 'A project is a number in Label Studio');
}

/** By id and not by page number, so that no task moves to a page that was read already. */
function toSearch({ project, afterId, updatedSince }: TaskQuery): URLSearchParams {
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
