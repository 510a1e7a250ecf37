import { brokenDown, type CvatAnswer, refuse } from './cvat-answer.ts';
import { type CvatEvent, isSince, toEventsCsv } from './cvat-events.ts';
import { createCvatGuides } from './cvat-guides.ts';
import type { CvatAssignable, CvatKind, CvatMembership, CvatOptions, CvatState, CvatUser } from './cvat-state.ts';

export interface CvatRequest {
  method: string;
  url: URL;
  body: Record<string, unknown>;
  isSwallowed: boolean;
}

/** More than one page, however few there are. */
const maxPageSize = 3;

/** What CVAT answers to a user who is logged in. */
export function createCvatRoutes(state: CvatState, options: CvatOptions, events: CvatEvent[]) {
  const guides = createCvatGuides(state);
  const exports = new Map<string, { query: URLSearchParams; polls: number }>();

  const show = ({ id, username }: CvatUser) => ({ id, username, first_name: '', last_name: '' });

  const showById = (id: number | null) => {
    const user = state.users.find((one) => one.id === id);
    return user === undefined ? null : show(user);
  };

  const showMembership = ({ id, userId, org, isActive, joined, role, invitation }: CvatMembership) => ({
    id,
    user: showById(userId),
    organization: state.organizations.get(org),
    is_active: isActive,
    joined_date: joined,
    role,
    invitation: invitation?.key ?? null,
  });

  const showInvitation = ({ userId, org, isActive, role, invitation }: CvatMembership) => ({
    key: invitation?.key,
    created_date: invitation?.created,
    owner: show(state.own),
    role,
    user: showById(userId),
    organization: state.organizations.get(org),
    expired: invitation && state.isExpired(invitation),
    ...(options.tellsAccepted !== false && { accepted: isActive }),
  });

  function toPage<Item extends { id: number }>(
    { url }: CvatRequest,
    found: Item[],
    showItem: (item: Item) => unknown,
  ): CvatAnswer {
    const number = Number(url.searchParams.get('page') ?? 1);
    const size = Math.min(Number(url.searchParams.get('page_size') ?? 10), maxPageSize);
    // The newest come first, unless the request says otherwise.
    const sign = url.searchParams.get('sort') === 'id' ? 1 : -1;
    const items = found.sort((one, other) => sign * (one.id - other.id));
    const results = items.slice((number - 1) * size, number * size).map(showItem);
    if (number > 1 && results.length === 0) return refuse(404, 'Invalid page.');
    const next = new URL(url);
    next.searchParams.set('page', String(number + 1));
    const body = { count: items.length, next: number * size < items.length ? next.href : null };
    return { status: 200, body: { ...body, previous: null, results } };
  }

  /** All simple filters and those in JSON Logic compare letter by letter; a search does not. */
  function hasFiltered({ url }: CvatRequest, fields: Record<string, string | number | null | undefined>): boolean {
    const { searchParams } = url;
    const simple = [...searchParams].filter(([name]) => Object.hasOwn(fields, name));
    const search = searchParams.get('search')?.toLowerCase();
    return (
      simple.every(([name, value]) => String(fields[name]) === value) &&
      isMatch(JSON.parse(searchParams.get('filter') ?? '{}') as Rule, fields) &&
      (search === undefined || String(fields['user']).toLowerCase().includes(search))
    );
  }

  function listMemberships(request: CvatRequest, org: string): CvatAnswer {
    const nameOf = (id: number) => state.users.find((user) => user.id === id)?.username;
    const found = state.memberships
      .filter((one) => one.org === org)
      .filter(({ id, userId, role }) => hasFiltered(request, { id, user: nameOf(userId), role }));
    return toPage(request, found, showMembership);
  }

  function listWork(kind: CvatKind, request: CvatRequest, org: string): CvatAnswer {
    const nameOf = (id: number | null) => state.users.find((user) => user.id === id)?.username;
    const found = state.work[kind]
      .filter((one) => one.org === org)
      .filter(({ id, assigneeId, projectId, state: is }) => {
        const fields = { id, assignee: nameOf(assigneeId), state: is };
        return hasFiltered(request, { ...fields, project_id: projectId, type: 'annotation' });
      });
    const showWork = ({ id, assigneeId, projectId, state: is }: CvatAssignable) => ({
      id,
      assignee: showById(assigneeId),
      state: is,
      ...(kind === 'projects' ? { guide_id: guides.ofProject(id)?.id ?? null } : { project_id: projectId }),
    });
    return toPage(request, found, showWork);
  }

  function createInvitation({ body, isSwallowed }: CvatRequest, org: string): CvatAnswer {
    const email = String(body['email']);
    if (isSwallowed) {
      const user = { id: 99_999, username: email };
      const invitation = { key: 'none', created_date: new Date().toISOString(), user };
      return { status: 201, body: { ...invitation, accepted: false, expired: null } };
    }
    const made = state.invite(org, email, String(body['role']));
    if (made === 'is member') {
      return { status: 400, body: ['The user is a member of the organization already.'] };
    }
    if (made === 'no mail') return noMail;
    if (made === 'broken down') return brokenDown;
    return { status: 201, body: showInvitation(made) };
  }

  function byKey(key: string): CvatMembership | undefined {
    return state.memberships.find(({ invitation }) => invitation?.key === key);
  }

  function showExport(id: string, { url }: CvatRequest): CvatAnswer {
    const asked = exports.get(id);
    if (asked === undefined) return refuse(404, 'Not found.');
    asked.polls += 1;
    if (asked.polls < 2) return { status: 200, body: { id, status: 'started', result_url: null } };
    if (options.hasAnalytics === false) return { status: 200, body: { id, status: 'failed' } };
    const resultUrl = `${url.origin}/api/events/download?rq_id=${encodeURIComponent(id)}`;
    return { status: 200, body: { id, status: 'finished', result_url: resultUrl } };
  }

  function download({ url }: CvatRequest): CvatAnswer {
    const { query } = exports.get(url.searchParams.get('rq_id') ?? '') ?? {};
    if (query === undefined) return refuse(404, 'Not found.');
    const found = events.filter(
      (event) =>
        event['org_slug'] === query.get('org') &&
        event['project_id'] === query.get('project_id') &&
        isSince(event, query.get('from')),
    );
    return { status: 200, csv: toEventsCsv(found) };
  }

  const inOrganization = new Map<string, (request: CvatRequest, org: string) => CvatAnswer>([
    ['GET memberships', listMemberships],
    [
      'GET users',
      (request, org) => {
        const found = state.users.filter(({ id, username }) => {
          const isThere = state.membershipOf(org, id) !== undefined;
          return isThere && hasFiltered(request, { id, username });
        });
        return toPage(request, found, show);
      },
    ],
    ['POST invitations', createInvitation],
    ['POST guides', ({ body }, org) => guides.create(body, org)],
    ...(['jobs', 'tasks', 'projects'] as const).map(
      (kind): [string, (request: CvatRequest, org: string) => CvatAnswer] => [
        `GET ${kind}`,
        (request, org) => listWork(kind, request, org),
      ],
    ),
    [
      'POST events/export',
      ({ url }) => {
        const id = `action=export&target=events&id=${exports.size}/1&user_id=${state.own.id}`;
        exports.set(id, { query: url.searchParams, polls: 0 });
        return { status: 202, body: { rq_id: id } };
      },
    ],
  ]);

  function change(kind: CvatKind, id: string, body: Record<string, unknown>): CvatAnswer {
    const found = state.work[kind].find((one) => String(one.id) === id);
    if (found === undefined) return refuse(404, 'Not found.');
    const field = kind === 'jobs' ? 'assignee' : 'assignee_id';
    // What a serializer does not know, it leaves out.
    if (field in body) found.assigneeId = body[field] as number | null;
    return { status: 200, body: {} };
  }

  function removeMembership(id: number): CvatAnswer {
    const found = state.memberships.find((one) => one.id === id);
    if (found === undefined) return refuse(404, 'Not found.');
    const own = state.membershipOf(found.org, state.own.id);
    const isOwner = own?.role === 'owner' && found.role !== 'owner';
    const isMaintainer = own?.role === 'maintainer' && /worker|supervisor/.test(found.role);
    if (!isOwner && !isMaintainer) return refuse(403, 'not allowed');
    state.remove(id);
    return { status: 204 };
  }

  /** Of objects, whose organization is their own. */
  function answerAbout(kind: string, id: string, request: CvatRequest): CvatAnswer {
    switch (`${request.method} ${kind}`) {
      case 'GET organizations': {
        const asked = request.url.searchParams.get('slug');
        const found = [...state.organizations]
          .map(([slug, orgId]) => ({ id: orgId, slug, created_date: state.madeAt.get(slug) }))
          .filter(({ slug }) => slug === asked && state.membershipOf(slug, state.own.id));
        return toPage(request, found, (organization) => organization);
      }
      case 'GET requests':
        return showExport(id, request);
      case 'GET invitations': {
        const found = byKey(id);
        return found === undefined ? refuse(404, 'Not found.') : { status: 200, body: showInvitation(found) };
      }
      case 'DELETE invitations': {
        const found = byKey(id);
        if (found === undefined) return refuse(404, 'Not found.');
        // The membership stays, with nothing to accept.
        found.invitation = null;
        return { status: 204 };
      }
      case 'DELETE memberships':
        if (request.isSwallowed) return { status: 204 };
        return removeMembership(Number(id));
      case 'PATCH jobs':
      case 'PATCH tasks':
      case 'PATCH projects':
        return change(kind as CvatKind, id, request.body);
      case 'GET guides':
        return guides.show(Number(id));
      case 'PATCH guides':
        return guides.change(Number(id), request.body);
      default:
        return refuse(404, 'Not found.');
    }
  }

  return (request: CvatRequest): CvatAnswer => {
    const { method, url } = request;
    const parts = url.pathname.split('/').slice(2).map(decodeURIComponent);
    const [kind = '', id = '', action = ''] = parts;
    if (kind === 'events' && id === 'download') return download(request);
    if (action === 'resend') return toResent(state, byKey(id));
    const route = inOrganization.get(`${method} ${parts.join('/')}`);
    if (route === undefined) return answerAbout(kind, id, request);
    const org = url.searchParams.get('org') ?? '';
    if (!state.organizations.has(org)) return refuse(404, 'Not found.');
    if (state.membershipOf(org, state.own.id) === undefined) return refuse(403, 'not allowed');
    return route(request, org);
  };
}

const noMail: CvatAnswer = { status: 500, body: 'Email backend is not configured.' };

function toResent(state: CvatState, membership: CvatMembership | undefined): CvatAnswer {
  const waitSeconds = state.throttleResend();
  if (waitSeconds !== null) {
    const detail = `Request was throttled. Expected available in ${waitSeconds} seconds.`;
    return { ...refuse(429, detail), headers: { 'retry-after': String(waitSeconds) } };
  }
  if (membership === undefined) return refuse(404, 'This invitation does not exist.');
  const outcome = state.resend(membership);
  if (outcome === 'no mail') return noMail;
  if (outcome === 'sent') return { status: 204 };
  return { status: 400, body: 'This invitation is already accepted.' };
}

interface Rule {
  and?: Rule[];
  /** Whether there is any. */
  var?: string;
  '=='?: [{ var: string }, unknown];
  '>'?: [{ var: string }, number];
}

/** The part of JSON Logic that is used here, such as `{"==": [{"var": "id"}, 7]}`. */
function isMatch(rule: Rule, fields: Record<string, unknown>): boolean {
  const { and = [], var: any, '==': same, '>': more } = rule;
  return (
    (any === undefined || fields[any] != null) &&
    and.every((one) => isMatch(one, fields)) &&
    (same === undefined || String(fields[same[0].var]) === String(same[1])) &&
    (more === undefined || Number(fields[more[0].var]) > more[1])
  );
}
