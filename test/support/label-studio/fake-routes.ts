import type { FakeAnswer } from '../http-fake.ts';
import { type FakeUser, type FakeUsers, showUser } from './fake-users.ts';
import type { FakeWork } from './fake-work.ts';

export interface FakeRequest {
  /** Who asks. */
  user: FakeUser;
  query: URLSearchParams;
  body: unknown;
  /** The number in the path. */
  id: number;
}

type Route = (request: FakeRequest) => FakeAnswer;

/** The part of Label Studio's API (1.23) that is used here. */
export function createFakeRoutes(users: FakeUsers, work: FakeWork): Map<string, Route> {
  return new Map([...memberRoutes(users, work), ...workRoutes(work)]);
}

function memberRoutes(users: FakeUsers, work: FakeWork): [string, Route][] {
  const madeAt = new Date().toISOString();
  const isOwner = (user: FakeUser) => user.id === users.ownerId;
  const showInvite = (status: number): FakeAnswer => {
    const token = users.inviteToken();
    return { status, body: { token, invite_url: `/user/signup/?token=${token}` } };
  };
  return [
    ['GET /api/current-user/whoami', ({ user }) => ok(showUser(user))],
    ['GET /api/current-user/token', ({ user }) => ok({ token: user.legacyToken })],
    [
      'GET /api/organizations/:id',
      ({ id }) =>
        id === 1
          ? ok({ id, title: 'Label Studio', created_by: users.ownerId, created_at: madeAt })
          : { status: 404, body: '<h1>404' },
    ],
    ['GET /api/invite', () => showInvite(200)],
    [
      'POST /api/invite/reset-token',
      () => {
        users.resetInviteToken();
        return showInvite(201);
      },
    ],
    ['GET /api/users', () => ok(users.all().map(showUser))],
    [
      'GET /api/users/:id',
      ({ id }) => {
        const user = users.get(id);
        return user === undefined ? refuse(404, 'No User matches') : ok(showUser(user));
      },
    ],
    [
      'POST /api/users',
      ({ body }) => {
        const { email } = body as { email: string };
        if (users.byEmail(email)) return refuse(400, 'Validation error');
        return { status: 201, body: showUser(users.add(email, null)) };
      },
    ],
    [
      'DELETE /api/users/:id',
      ({ user, id }) => {
        if (!users.get(id)) return refuse(404, 'No User matches');
        if (id === users.ownerId) return refuse(403, 'The organization owner cannot be deleted');
        if (!isOwner(user)) return refuse(403, 'Only the organization owner can delete users');
        users.delete(id);
        work.forget(id);
        return { status: 204 };
      },
    ],
    [
      'DELETE /api/organizations/1/memberships/:id',
      ({ user, id }) => {
        const member = users.get(id);
        if (!isOwner(user)) return refuse(403, 'You do not have permission');
        if (!member || member.isDeleted) return refuse(404, 'Member not found');
        if (id === user.id) return refuse(405, 'User cannot soft delete self');
        users.endMembership(member);
        return { status: 204 };
      },
    ],
  ];
}

function workRoutes(work: FakeWork): [string, Route][] {
  return [
    [
      'GET /api/projects',
      ({ user }) => {
        const results = user.activeOrganization === null ? [] : work.projects();
        return ok({ count: results.length, next: null, previous: null, results });
      },
    ],
    ['POST /api/projects', ({ body }) => ({ status: 201, body: work.addProject((body as { title: string }).title) })],
    [
      'GET /api/projects/:id',
      ({ id }) => {
        const shown = work.showProject(id);
        return shown === undefined ? refuse(404, 'No Project matches') : ok(shown);
      },
    ],
    [
      'PATCH /api/projects/:id',
      ({ id, body }) => {
        const changes = { ...(body as Record<string, unknown>) };
        if ('expert_instruction' in changes) {
          const text = changes['expert_instruction'];
          if (typeof text !== 'string') return refuse(500, 'argument must be of text type');
          if (text.includes('\0') || !text.isWellFormed()) return refuse(400, 'Validation error');
          changes['expert_instruction'] = cleanInstructions(text);
        }
        const shown = work.changeProject(id, changes);
        return shown === undefined ? refuse(404, 'No Project matches') : ok(shown);
      },
    ],
    [
      'DELETE /api/projects/:id',
      ({ id }) => (work.deleteProject(id) ? { status: 204 } : refuse(404, 'No Project matches')),
    ],
    [
      'POST /api/dm/actions',
      ({ query, body }) => {
        const { selectedItems } = body as { selectedItems: { included: number[] } };
        const done = work.act(query.get('id') ?? '', selectedItems.included);
        return done === null ? refuse(404, 'There is no such action') : ok(done);
      },
    ],
    ['POST /api/projects/:id/import', ({ id, body }) => ({ status: 201, body: work.import(id, body as unknown[]) })],
    [
      'GET /api/tasks',
      ({ query }) => {
        const page = work.page(query);
        if (page === null) return refuse(404, 'No Project matches the given query.');
        return page === undefined ? refuse(404, 'Invalid page.') : ok(page);
      },
    ],
    ['DELETE /api/tasks/:id', ({ id }) => (work.deleteTask(id) ? { status: 204 } : refuse(404, 'No Task matches'))],
    [
      'POST /api/tasks/:id/annotations',
      ({ user, id, body }) => {
        const made = work.annotate(id, user.id, body);
        return made ? { status: 201, body: made } : refuse(404, 'No Task matches');
      },
    ],
    [
      'PATCH /api/annotations/:id',
      ({ id, body }) => {
        const changed = work.edit(id, body);
        return changed ? ok(changed) : refuse(404, 'No Annotation matches');
      },
    ],
    [
      'DELETE /api/annotations/:id',
      ({ id }) => (work.deleteAnnotation(id) ? { status: 204 } : refuse(404, 'No Annotation')),
    ],
  ];
}

/** The part that is used here. Scripts and frames stay, as in the real one. */
function cleanInstructions(html: string): string {
  return html
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/<!--.*?-->/gs, '')
    .replaceAll(/ (?:on\w+="|href="javascript:)[^"]*"/g, '');
}

function ok(body: unknown): FakeAnswer {
  return { status: 200, body };
}

/** The body of every error of the real one's API. */
export function refuse(status: number, detail: string): FakeAnswer {
  return { status, body: { id: 'f00d', status_code: status, version: '1.23.2', detail } };
}
