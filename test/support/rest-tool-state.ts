import type { FakeAnswer } from './http-fake.ts';

export type Paging = 'page' | 'offset' | 'cursor' | 'link' | 'link_header';

export interface RestRequest {
  method: string;
  url: URL;
  body: unknown;
  /** Whether to say that it is done, and do nothing. */
  isSwallowed: boolean;
}

interface RestMember {
  id: number;
  user: { email: string; name: string };
  status: string;
}

export interface RestToolOptions {
  paging?: Paging;
  pageSize?: number;
  /** Whether it does not say that there are further pages. */
  isSilent?: boolean;
  /** Whether an address that is a member already is answered 409; else there are two of it. */
  refusesRepeats?: boolean;
}

/** Projects with members, and the rules of the tool that keeps them. */
export function createRestToolState(options: RestToolOptions) {
  const { paging = 'page', pageSize = 2, refusesRepeats = true, isSilent = false } = options;
  const projects = new Map<string, RestMember[]>();
  /** Logins, in a project or not. */
  const accounts = new Map<number, RestMember>();
  let lastId = 100;

  const membersOf = (project: string) => projects.get(project) ?? [];

  function seed(project: string, email: string, status = 'active', name = email): RestMember {
    // One login for each address in however many projects; twice in one is another.
    const isAgain = membersOf(project).some(({ user }) => isAlike(user.email, email));
    const login = isAgain ? undefined : loginOf(email);
    const member = { id: login?.id ?? seedAccount(email, name).id, user: { email, name }, status };
    projects.set(project, [...membersOf(project), member]);
    return member;
  }

  const loginOf = (email: string) => [...accounts.values()].find(({ user }) => isAlike(user.email, email));

  function seedAccount(email: string, name = email): RestMember {
    const account = { id: ++lastId, user: { email, name }, status: 'active' };
    accounts.set(account.id, account);
    return account;
  }

  /** As after a restored backup. */
  function giveOut(id: string, email: string): void {
    for (const one of [...accounts.values(), ...[...projects.values()].flat()]) {
      if (String(one.id) === id) one.user = { email, name: email };
    }
  }

  function showPage(url: URL, all: RestMember[]): FakeAnswer {
    const members = search(all, url);
    const asked = url.searchParams.get(paging.startsWith('link') ? 'offset' : paging);
    const start = paging === 'page' ? (Number(asked ?? 1) - 1) * pageSize : Number(asked ?? 0);
    const hasMore = members.length > start + pageSize;
    const next = new URL(url);
    next.searchParams.set('offset', String(start + pageSize));
    const body = {
      data: members.slice(start, start + pageSize),
      meta: { total: members.length, cursor: hasMore ? start + pageSize : null },
      ...(hasMore && { next: `${next.pathname}${next.search}` }),
    };
    if (isSilent) return { status: 200, body: { data: body.data } };
    const link = `<${next.origin}/>; rel="first", <${next.href}>; rel="next"`;
    return { status: 200, body, ...(hasMore && { headers: { link } }) };
  }

  function add(project: string, body: unknown, isSwallowed: boolean): FakeAnswer {
    const { email, name } = body as { email: string; name: string };
    const invented = { id: 99, user: { email, name }, status: 'active' };
    if (isSwallowed) return { status: 201, body: { data: invented } };
    const isThere = membersOf(project).some(({ user }) => isAlike(user.email, email));
    if (isThere && refusesRepeats) return { status: 409 };
    return { status: 201, body: { data: seed(project, email, 'active', name) } };
  }

  function remove(isMeant: (project: string, member: RestMember) => boolean): FakeAnswer {
    let removed = 0;
    for (const [id, account] of accounts) if (isMeant('', account)) accounts.delete(id);
    for (const [project, members] of projects) {
      const kept = members.filter((member) => !isMeant(project, member));
      removed += members.length - kept.length;
      projects.set(project, kept);
    }
    return { status: removed > 0 ? 204 : 404 };
  }

  const routes = new Map<string, (request: RestRequest, first: string, id: string) => FakeAnswer>([
    ['GET me', () => ({ status: 200, body: { ok: true } })],
    [
      'GET projects/members',
      ({ url }, project) => {
        return showPage(url, membersOf(project));
      },
    ],
    [
      'GET projects/members/:id',
      (_, project, id) => {
        const data = membersOf(project).find((one) => String(one.id) === id);
        return data === undefined ? { status: 404 } : { status: 200, body: { data } };
      },
    ],
    ['POST projects/members', (request, project) => add(project, request.body, request.isSwallowed)],
    [
      'PATCH projects/members/:id',
      ({ body, isSwallowed }, project, id) => {
        const member = membersOf(project).find((one) => String(one.id) === id);
        if (member === undefined) return { status: 404 };
        const alike = [...projects.values()].flat().filter((one) => String(one.id) === id);
        for (const one of [...alike, accounts.get(Number(id)) ?? member]) {
          if (!isSwallowed) one.user = { ...one.user, ...(body as { email: string }) };
        }
        return { status: 200, body: { data: member } };
      },
    ],
    [
      'DELETE projects/members/:id',
      ({ isSwallowed }, project, id) =>
        isSwallowed ? { status: 204 } : remove((other, one) => other === project && String(one.id) === id),
    ],
    [
      'GET users',
      ({ url }) => {
        return showPage(url, [...accounts.values()]);
      },
    ],
    [
      'DELETE users',
      ({ isSwallowed }, id) => (isSwallowed ? { status: 204 } : remove((_, one) => String(one.id) === id)),
    ],
  ]);

  return {
    seed,
    seedAccount,
    giveOut,
    members: (project: string) => membersOf(project).map(({ user }) => user.email),
    users: () => [...accounts.keys()].map(String),
    hasLogin: (email: string) => loginOf(email) !== undefined,
    answer(request: RestRequest): FakeAnswer {
      const parts = request.url.pathname.split('/').map(decodeURIComponent);
      const [, , area = '', first = '', what = '', id = ''] = parts;
      const name = `${request.method} ${area}${what && `/${what}`}${id && '/:id'}`;
      const route = parts.length <= 6 ? routes.get(name) : undefined;
      return route?.(request, first, id) ?? { status: 404, body: { error: `no ${name}` } };
    },
  };
}

/** By any part of an address, as many tools search. */
function search(all: RestMember[], { searchParams }: URL): RestMember[] {
  const part = searchParams.get('search')?.toLowerCase() ?? '';
  return all.filter(({ user }) => user.email.toLowerCase().includes(part));
}

function isAlike(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
