import { randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { RequestKind, ToolFault, ToolFaults } from '../../../src/adapters/conformance/harness.ts';
import { createFaults, type FakeAnswer, headersOfRefusal, openFakeTool } from '../http-fake.ts';
import { createFakeRoutes, refuse } from './fake-routes.ts';
import { createFakeUsers, type FakeUser, type FakeUsers, showUser } from './fake-users.ts';
import { createFakeWork, type FakeWork } from './fake-work.ts';
import { createLabelStudioSite, type LabelStudioSite } from './label-studio-client.ts';

/** A Label Studio on loopback, held to the real one by the claims that both are asked to meet. */
export interface FakeLabelStudio extends LabelStudioSite {
  /** `method path` of every request. */
  requests: string[];
  /** Every `Authorization`. */
  sent: string[];
  tokens: FakeTokens;
  work: FakeWork;
  users: FakeUsers;
  /** Has something happen just before the next request of this kind is looked at. */
  onceBefore(line: string, happening: () => void): void;
  /** Has the list of users answered in another shape, or with others in it. */
  showUsersAs(toBody: (users: unknown[]) => unknown): void;
  /** As an upgrade or an operator would. */
  settings: FormSettings & { version: object };
  /** It is called for every request, after its effect. */
  watch: (call: string) => void;
  /** `work` reads tasks, and nothing else. */
  faults: ToolFaults & { begin(kind: FaultyKind, fault: ToolFault): void };
}

type FaultyKind = RequestKind | 'work';

const owner = {
  email: 'owner@example.com',
  password: 'owner-password-1',
  legacyToken: 'ab12cd34ef56ab12cd34ef56ab12cd34ef56ab12',
};

/** @param now its clock, by which it says when an account was made and when work was done */
export async function openFakeLabelStudio(now = () => new Date()): Promise<FakeLabelStudio> {
  const settings = {
    isSignUpOpen: false,
    isFormRefused: false,
    version: { release: '1.23.2', edition: 'Community' } as object,
  };
  const [users, work, tokens] = [createFakeUsers(owner, now), createFakeWork(now), createFakeTokens()];
  const routes = createFakeRoutes(users, work);
  const forms = createFakeForms(users, settings);
  const personalToken = tokens.createPersonal(users.ownerId);
  const [requests, authorizations]: [string[], string[]] = [[], []];
  const happenings = new Map<string, () => void>();
  const { of: faultOf, faults } = createFaults<'work'>([personalToken, owner.legacyToken]);

  async function answer(request: IncomingMessage): Promise<FakeAnswer | null> {
    const { method = '', headers } = request;
    const url = new URL(`http://127.0.0.1${request.url}`);
    const sent = await text(request);
    requests.push(`${method} ${url.pathname}`);
    authorizations.push(headers.authorization ?? '');
    happenings.get(requests.at(-1) ?? '')?.();
    happenings.delete(requests.at(-1) ?? '');
    const fault = faultOf(kindOf(method, url.pathname));
    if (fault?.does === 'stalls') return null;
    if (fault?.does === 'answers') {
      // Quotes all that it should not.
      const quoted = `${request.url} ${sent} ${headers.authorization} ${personalToken}`;
      return { ...refuse(fault.status, quoted), headers: headersOfRefusal(fault, '/user/login/') };
    }
    const given = respond(request, url, sent, fault?.does === 'swallows');
    fake.watch(`${requests.at(-1)} → ${given.status}`);
    return fault?.does === 'goes_silent' ? null : given;
  }

  /** What needs no token. */
  function respondToAll(method: string, url: URL, sent: string, isSwallowed: boolean, cookies: Cookies) {
    if (url.pathname.startsWith('/user/')) {
      const form = new URLSearchParams(sent);
      return forms.answer({ method, url, cookies, form, isSwallowed });
    }
    if (url.pathname === '/api/version') return { status: 200, body: settings.version };
    if (!url.pathname.startsWith('/api/')) return { status: 404, body: '<h1>404' };
    if (url.pathname !== '/api/token/refresh/') return undefined;
    const access = tokens.exchange((JSON.parse(sent) as { refresh: string }).refresh);
    return access ? { status: 200, body: { access } } : refuse(401, 'Token is invalid');
  }

  function respond(
    { method = '', headers }: IncomingMessage,
    url: URL,
    sent: string,
    isSwallowed: boolean,
  ): FakeAnswer {
    const cookies = toCookies(headers.cookie);
    const given = respondToAll(method, url, sent, isSwallowed, cookies);
    if (given !== undefined) return given;
    const user = whoAsks(headers.authorization, cookies);
    if (user === undefined) return refuse(401, 'Invalid token.');
    if (method === 'DELETE' && isSwallowed) return { status: 204 };
    const [name, id] = toRoute(method, url.pathname);
    const body: unknown = sent === '' ? undefined : JSON.parse(sent);
    const route = routes.get(name);
    return route?.({ user, query: url.searchParams, body, id }) ?? { status: 404, body: '<h1>404' };
  }

  function whoAsks(authorization = '', cookies: Cookies): FakeUser | undefined {
    const [scheme, token = ''] = authorization.split(' ');
    if (scheme === 'Token') return users.byLegacyToken(token);
    if (scheme === 'Bearer') return users.get(tokens.userOf(token) ?? 0);
    const user = users.get(Number(cookies.get('sessionid')));
    // A user without an organization gets the first one, even after the membership ended.
    if (user) user.activeOrganization ??= 1;
    return user;
  }

  const address = await openFakeTool(answer);
  const fake: FakeLabelStudio = {
    watch: () => undefined,
    ...createLabelStudioSite({ url: address, version: '1.23.2', owner }),
    personalToken: async () => personalToken,
    requests,
    sent: authorizations,
    tokens,
    work,
    users,
    settings,
    onceBefore: (line, happening) => void happenings.set(line, happening),
    showUsersAs(toBody) {
      const list = users.all().map(showUser);
      routes.set('GET /api/users', () => ({ status: 200, body: toBody(list) }));
    },
    faults,
  };
  return fake;
}

function kindOf(method: string, path: string): FaultyKind | undefined {
  if (method === 'DELETE') return 'remove';
  if (path === '/user/signup/') return method === 'POST' ? 'add' : undefined;
  if (path.startsWith('/api/users/')) return 'read';
  if (path.startsWith('/api/tasks/')) return 'work';
  return path === '/api/version' ? 'check' : undefined;
}

/** `/api/users/17/` is `/api/users/:id`; only the last number of a path is one. */
function toRoute(method: string, path: string): [name: string, id: number] {
  const [, id = '0'] = /\/(\d+)(?:\/[a-z]+)?\/?$/.exec(path) ?? [];
  const name = path.replace(/\/$/, '').replace(/\/\d+(?=(\/[a-z]+)?$)/, '/:id');
  return [`${method} ${name}`, Number(id)];
}

type Cookies = Map<string, string>;

function toCookies(header = ''): Cookies {
  const pairs = header.split(';').map((pair) => pair.trim().split('='));
  return new Map(pairs.map(([name = '', value = '']) => [name, value]));
}

/** The valid tokens of Label Studio. */
function createFakeTokens() {
  const personal = new Map<string, number>();
  const access = new Map<string, number>();

  return {
    /** How long access lasts. */
    lifeSeconds: 300,
    createPersonal(user: number): string {
      const token = toJwt({ token_type: 'refresh', exp: 8_102_479_790, iat: 1_795_279_790 });
      personal.set(token, user);
      return token;
    },
    revokePersonal: (token: string) => personal.delete(token),
    /** Undefined for a token that is not good. */
    exchange(token: string): string | undefined {
      const user = personal.get(token);
      if (user === undefined) return undefined;
      const iat = Math.floor(Date.now() / 1000);
      const given = toJwt({ token_type: 'access', exp: iat + this.lifeSeconds, iat });
      access.set(given, user);
      return given;
    },
    userOf: (accessToken: string) => access.get(accessToken),
    /** As after five minutes, or after the server's key was replaced. */
    endAccess: () => access.clear(),
  };
}

function toJwt(claims: object): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  return `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ ...claims, jti: randomUUID() })}.c2ln`;
}

type FakeTokens = ReturnType<typeof createFakeTokens>;

interface FormRequest {
  method: string;
  url: URL;
  cookies: Map<string, string>;
  form: URLSearchParams;
  /** Whether to say that it is done, and do nothing. */
  isSwallowed: boolean;
}

interface FormSettings {
  isSignUpOpen: boolean;
  /** Whether it runs behind https without knowing its public address. */
  isFormRefused: boolean;
}

/** As strict as Django's, as far as it matters. */
const addressPattern = /^[^\s@(),:;<>[\]\\"]+@[\w-]+(\.[\w-]+)+$/;

/** The two pages with a form, on which people sign up and log in. */
function createFakeForms(users: FakeUsers, settings: FormSettings) {
  function signUp({ url, form, isSwallowed }: FormRequest): FakeAnswer {
    const token = url.searchParams.get('token');
    const isRefused = token === null ? !settings.isSignUpOpen : token !== users.inviteToken();
    if (isRefused) return { status: 403, body: '<h1>403' };
    const email = (form.get('email') ?? '').toLowerCase();
    const password = form.get('password') ?? '';
    const reasons = reasonsAgainst(email, password);
    if (reasons.length > 0) return showForm(reasons);
    return letIn(isSwallowed ? 0 : users.add(email, password).id);
  }

  function reasonsAgainst(email: string, password: string): string[] {
    return [
      ...(addressPattern.test(email) ? [] : ['Enter a valid email address.']),
      ...(users.byEmail(email) ? ['User with this email already exists'] : []),
      ...(password.length < 8 ? ['Please enter a password 8-128 characters in length'] : []),
    ];
  }

  function logIn({ form }: FormRequest): FakeAnswer {
    const user = users.byEmail((form.get('email') ?? '').toLowerCase());
    if (user === undefined || user.password !== form.get('password')) {
      return showForm(["The email and password you entered don't match."]);
    }
    // A removed user can log in: only the password is checked.
    user.activeOrganization = 1;
    return letIn(user.id);
  }

  return {
    answer(request: FormRequest): FakeAnswer {
      const { method, url, cookies, form } = request;
      if (method === 'GET') return showForm([]);
      const csrf = cookies.get('csrftoken');
      const isGood = csrf !== undefined && form.get('csrfmiddlewaretoken') === csrf;
      if (settings.isFormRefused || !isGood) {
        return { status: 403, body: '<h1>CSRF verification failed' };
      }
      return url.pathname === '/user/signup/' ? signUp(request) : logIn(request);
    },
  };
}

function showForm(reasons: string[]): FakeAnswer {
  const list = `<ul class="field_errors">\n${reasons.map((reason) => `<li>${reason}</li>`).join('\n')}</ul>`;
  const headers = { 'set-cookie': `csrftoken=${randomBytes(16).toString('hex')}; Path=/` };
  return { status: 200, body: `<!doctype html><form>${list}</form>`, headers };
}

function letIn(id: number): FakeAnswer {
  const cookie = `sessionid=${id}; HttpOnly; Path=/`;
  return { status: 302, headers: { location: '/', 'set-cookie': cookie } };
}
