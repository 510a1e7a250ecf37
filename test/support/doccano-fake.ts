import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setImmediate, setTimeout as wait } from 'node:timers/promises';
import type { RequestKind, ToolFault, ToolFaults } from '../../src/adapters/conformance/harness.ts';
import { fakeRoutes } from './doccano-fake-routes.ts';
import { addUser, createDoccanoState, type DoccanoState, type FakeUser, showUser } from './doccano-fake-state.ts';
import type { DoccanoSite } from './doccano-site.ts';
import { createFaults, type FakeAnswer, headersOfRefusal, openFakeTool } from './http-fake.ts';

/**
 * doccano's HTTP on loopback, as far as tests use it, which misbehaves when a test has it do so. The facts
 * in `doccano-facts.ts` are asked of it and of the real one.
 */
export interface DoccanoFake extends DoccanoSite {
  /** Of every request so far. */
  requests: { line: string; headers: IncomingMessage['headers'] }[];
  faults: ToolFaults;
  /** The next request of this line (`POST /users/create`) does what it should, and is not answered. */
  loseNextAnswer(line: string): void;
  /** Makes the tokens of an account worthless, as logging out does. */
  endToken(username: string): void;
  /** Gives the id of an account to another user, as a restored backup does. */
  giveOut(id: number, username: string): void;
  /** Every request with this line gets this answer, from any user. */
  answerWith(line: string, answer: FakeAnswer): void;
}

const admin = { username: 'admin', password: 'lantern-Ox3-marble' };
const session = 'sessionid=abc123';
/** What was given up shortly before a fault ended may arrive after that, and its end a moment later. */
const [lateMs, arrivalMs] = [1000, 50];

export async function openDoccanoFake(): Promise<DoccanoFake> {
  const state = createDoccanoState();
  const owner = addUser(state, admin.username, admin.password, { isSuperuser: true, isStaff: true });
  const requests: DoccanoFake['requests'] = [];
  const given = new Map<string, FakeAnswer>();
  const { of: faultOf, faults } = createFaults([admin.password, owner.token]);
  let endedAt = Number.NEGATIVE_INFINITY;
  let lost = '';

  function isLost(line: string): boolean {
    const isMeant = lost === line;
    if (isMeant) lost = '';
    return isMeant;
  }

  async function answer(request: IncomingMessage): Promise<FakeAnswer | null> {
    const call = await toCall(request);
    const fault = faultOf(kindOf(call.line));
    requests.push({ line: call.line, headers: request.headers });
    // What was given up while it was on its way must not be done when the fault has ended. Reading does nothing.
    const mayBeLate = !call.isReading && performance.now() - endedAt < lateMs;
    await (mayBeLate ? wait(arrivalMs) : setImmediate());
    if (request.socket.destroyed || request.socket.readableEnded) return null;
    const work = () => given.get(call.line) ?? respond(state, call);
    if (fault !== undefined) return misbehave(fault, call, owner, work);
    const made = work();
    return isLost(call.line) ? null : made;
  }

  return {
    url: await openFakeTool(answer),
    admin,
    requests,
    async makeStaff({ username, password }) {
      addUser(state, username, password, { isStaff: true });
    },
    faults: {
      ...faults,
      end: () => {
        faults.end();
        endedAt = performance.now();
      },
    },
    loseNextAnswer: (line) => {
      lost = line;
    },
    giveOut(id, username) {
      const user = state.users.find((one) => one.id === id);
      if (user !== undefined) user.username = username;
    },
    endToken(username) {
      const user = state.users.find((one) => one.username === username);
      if (user !== undefined) user.token = `${user.token}-next`;
    },
    answerWith: (line, fixed) => void given.set(line, fixed),
  };
}

interface Call {
  /** Its method and path, without its query. */
  line: string;
  isReading: boolean;
  url: URL;
  headers: IncomingMessage['headers'];
  body: Record<string, unknown>;
}

async function toCall(request: IncomingMessage): Promise<Call> {
  const { method = '', url: target = '', headers } = request;
  const url = new URL(target, 'http://fake');
  const body = JSON.parse((await text(request)) || '{}') as Record<string, unknown>;
  const line = `${method} ${url.pathname.replace(/^\/v1/, '')}`;
  const isReading = method === 'GET' || line === 'POST /auth/login/';
  return { line, isReading, url, headers, body };
}

function respond(state: DoccanoState, call: Call): FakeAnswer {
  const { line, headers, body } = call;
  if (line === 'POST /auth/login/') return logIn(state, body);
  // The session comes first in doccano, and asks for more than a token.
  if (headers.cookie?.includes(session) && !line.startsWith('GET')) return refused('CSRF Failed');
  const token = headers.authorization?.replace('Token ', '');
  const user = state.users.find((one) => one.token === token);
  if (user === undefined) return refused('Invalid token.');
  const ids = [...line.matchAll(/\/(\d+)/g)].map(([, id]) => Number(id));
  const route = fakeRoutes.get(line.replaceAll(/\/\d+/g, '/:'));
  // Doccano answers other paths with a page.
  if (route === undefined) return { status: 200, body: '<!doctype html><html></html>' };
  return route({ state, user, ids, query: call.url.searchParams, body });
}

function logIn(state: DoccanoState, { username, password }: Record<string, unknown>): FakeAnswer {
  const user = state.users.find((one) => one.username === username && one.password === password);
  if (user === undefined) {
    const text = 'Unable to log in with provided credentials.';
    return { status: 400, body: { non_field_errors: [text] } };
  }
  const cookies = ['csrftoken=def456; Path=/', `${session}; HttpOnly; Path=/`];
  return { status: 200, body: { key: user.token }, headers: { 'set-cookie': cookies } };
}

function refused(detail: string): FakeAnswer {
  return { status: 403, body: { detail } };
}

function misbehave(fault: ToolFault, call: Call, owner: FakeUser, work: () => FakeAnswer): FakeAnswer | null {
  if (fault.does === 'answers') return refuse(fault, call, owner);
  if (fault.does === 'swallows') return pretend(call);
  if (fault.does === 'goes_silent') work();
  return null;
}

/** That it was done. */
function pretend({ line, body }: Call): FakeAnswer {
  if (line.startsWith('DELETE')) return { status: 204 };
  const row = { id: 9999, user: body['user'], role: body['role'] };
  return { status: 201, body: { ...row, username: 'unknown', rolename: 'annotator' } };
}

function kindOf(line: string): RequestKind | undefined {
  if (line === 'GET /me') return 'check';
  if (line.startsWith('GET')) return 'read';
  if (!line.endsWith('/members')) return undefined;
  return line.startsWith('POST') ? 'add' : 'remove';
}

/** Quotes all it should not: its credentials, and what it was sent. */
function refuse(fault: ToolFault & { does: 'answers' }, { url, body }: Call, owner: FakeUser): FakeAnswer {
  const { token, password } = owner;
  const sent = `${url.pathname}${url.search} ${JSON.stringify(body)}`;
  const detail = `${sent} ${token} ${password} Token ${token} ${JSON.stringify(showUser(owner))}`;
  const headers = headersOfRefusal(fault, '/v1/me');
  return { status: fault.status, body: { detail, requestId: token }, headers };
}
