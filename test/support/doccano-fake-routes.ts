import {
  addUser,
  adminRole,
  type DoccanoState,
  type FakeUser,
  fakeRoles,
  rowOf,
  showDistribution,
  showProgress,
  showRow,
  showUser,
} from './doccano-fake-state.ts';
import type { FakeAnswer } from './http-fake.ts';

export interface FakeCall {
  state: DoccanoState;
  user: FakeUser;
  /** The numbers in the path, in order. */
  ids: number[];
  query: URLSearchParams;
  body: Record<string, unknown>;
}

const denied: FakeAnswer = {
  status: 403,
  body: { detail: 'You do not have permission to perform this action.' },
};
const serverError: FakeAnswer = { status: 500, body: '<!doctype html><html></html>' };
const missing: FakeAnswer = { status: 404, body: { detail: 'Not found.' } };
const ok = (body: unknown): FakeAnswer => ({ status: 200, body });
const created = (body: unknown): FakeAnswer => ({ status: 201, body });
const bad = (field: string, text: string): FakeAnswer => ({ status: 400, body: { [field]: [text] } });

type Route = (call: FakeCall) => FakeAnswer;

const maxBodyBytes = 2_621_440;

/** The answers of the fake doccano, by method and path; `:` is a number. */
export const fakeRoutes = new Map<string, Route>([
  ['GET /me', ({ user }) => ok(showUser(user))],
  ['GET /roles', () => ok(fakeRoles)],
  ['GET /users', listUsers],
  ['POST /users/create', ifStaff(createUser)],
  ['PATCH /auth/user/', renameUser],
  ['POST /auth/password/change/', changePassword],
  ['GET /projects', listProjects],
  ['POST /projects', ifStaff(createProject)],
  ['GET /projects/:', ifMember(showProject)],
  ['PATCH /projects/:', ifAdmin(changeProject)],
  ['GET /projects/:/members', ifAdmin(listRows)],
  ['POST /projects/:/members', ifAdmin(createRow)],
  ['DELETE /projects/:/members', ifAdmin(deleteRows)],
  ['GET /projects/:/examples', ifMember(listExamples)],
  ['POST /projects/:/examples', ifAdmin(createExample)],
  ['GET /projects/:/examples/:', ifMember(showExample)],
  ['POST /projects/:/assignments', ifAdmin(createAssignment)],
  ['POST /projects/:/category-types', ifAdmin(createType('category'))],
  ['POST /projects/:/span-types', ifAdmin(createType('span'))],
  ['POST /projects/:/examples/:/categories', ifMember(createLabel)],
  ['POST /projects/:/examples/:/spans', ifMember(createLabel)],
  ['POST /projects/:/examples/:/states', ifMember(toggleConfirmation)],
  ['GET /projects/:/metrics/member-progress', ifMember(({ state, ids: [id = 0] }) => ok(showProgress(state, id)))],
  ...['category', 'span', 'relation'].map(
    (kind) => [`GET /projects/:/metrics/${kind}-distribution`, ifMember(countLabels(kind))] as const,
  ),
]);

function ifStaff(route: Route): Route {
  return (call) => (call.user.isStaff ? route(call) : denied);
}

function ifMember(route: Route): Route {
  return (call) => {
    const { state, user, ids } = call;
    const isIn = rowOf(state, ids[0] ?? 0, user) !== undefined;
    return user.isSuperuser || isIn ? route(call) : denied;
  };
}

function ifAdmin(route: Route): Route {
  return (call) => {
    const { state, user, ids } = call;
    const isAdmin = rowOf(state, ids[0] ?? 0, user)?.role === adminRole;
    return user.isSuperuser || isAdmin ? route(call) : denied;
  };
}

function listUsers({ state, query }: FakeCall): FakeAnswer {
  const part = query.get('q')?.toLowerCase() ?? '';
  return ok(state.users.filter(({ username }) => username.toLowerCase().includes(part)).map(showUser));
}

function createUser({ state, body }: FakeCall): FakeAnswer {
  const username = String(body['username']);
  const password = String(body['password1']);
  if (isTaken(state, username)) return bad('username', 'A user with that username already exists.');
  if (!/^[\p{L}\p{N}_.@+-]{1,150}$/u.test(username)) return bad('username', 'Enter a valid one.');
  if (password.length < 8) return bad('password1', 'This password is too short.');
  if (username.includes(password)) return bad('non_field_errors', 'The password is too similar.');
  return created(showUser(addUser(state, username, password)));
}

function isTaken(state: DoccanoState, username: string): boolean {
  return state.users.some((user) => user.username.toLowerCase() === username.toLowerCase());
}

function renameUser({ state, user, body }: FakeCall): FakeAnswer {
  const username = String(body['username']);
  if (isTaken(state, username)) return bad('username', 'A user with that username already exists.');
  user.username = username;
  return ok({ pk: user.id, username, email: '', first_name: '', last_name: '' });
}

function changePassword({ user, body }: FakeCall): FakeAnswer {
  user.password = String(body['new_password1']);
  return ok({ detail: 'New password has been saved.' });
}

function listProjects({ state, user, query }: FakeCall): FakeAnswer {
  const results = state.projects.filter(({ id }) => rowOf(state, id, user) !== undefined);
  const limit = Number(query.get('limit') ?? 5);
  return ok({
    count: results.length,
    next: null,
    previous: null,
    results: results.slice(0, limit),
  });
}

function createProject({ state, user, body }: FakeCall): FakeAnswer {
  const { name, project_type } = body as { name: string; project_type: string };
  const project = { id: state.nextId(), name, project_type, resourcetype: `${project_type}Project`, guideline: '' };
  state.projects.push(project);
  state.rows.push({ id: state.nextId(), project: project.id, user: user.id, role: adminRole });
  return created(project);
}

function showProject({ state, ids: [id] }: FakeCall): FakeAnswer {
  const project = state.projects.find((one) => one.id === id);
  return project === undefined ? missing : ok(project);
}

function changeProject({ state, ids: [id], body }: FakeCall): FakeAnswer {
  const project = state.projects.find((one) => one.id === id);
  if (project === undefined) return missing;
  const { guideline = project.guideline } = body;
  if (guideline === null) return bad('guideline', 'This field may not be null.');
  const text = String(guideline);
  // The default of Django, which reads no larger body.
  if (JSON.stringify(body).length > maxBodyBytes) return { status: 400, body: '<h1>Bad Request (400)</h1>' };
  if (text.includes('\0') || !text.isWellFormed()) return bad('guideline', 'Such characters are not allowed.');
  // Spaces at both ends are cut off, as of every text.
  project.guideline = text.trim();
  return ok(project);
}

function listRows({ state, ids: [id], query }: FakeCall): FakeAnswer {
  const asked = query.get('user');
  const isKnown = asked === null || state.users.some((user) => String(user.id) === asked);
  if (!isKnown) return bad('user', 'Select a valid choice.');
  const rows = state.rows.filter((row) => row.project === id);
  const found = rows.filter((row) => asked === null || String(row.user) === asked);
  return ok(found.map((row) => showRow(state, row)));
}

function createRow({ state, ids: [project = 0], body }: FakeCall): FakeAnswer {
  const { user, role } = body as { user: number; role: number };
  const isKnown = state.users.some(({ id }) => id === user);
  if (!isKnown) return bad('user', 'Invalid pk - object does not exist.');
  const isThere = state.projects.some(({ id }) => id === project);
  const isMember = state.rows.some((row) => row.project === project && row.user === user);
  if (!isThere || isMember) {
    const detail = 'This user is already assigned to a role in this project.';
    return { status: 400, body: { detail } };
  }
  const row = { id: state.nextId(), project, user, role };
  state.rows.push(row);
  return created(showRow(state, row));
}

function deleteRows({ state, user, ids: [project], body }: FakeCall): FakeAnswer {
  const ids = body['ids'] as number[] | undefined;
  if (ids === undefined) return serverError;
  const isMeant = (row: { id: number; project: number; user: number }) =>
    row.project === project && ids.includes(row.id) && row.user !== user.id;
  state.rows = state.rows.filter((row) => !isMeant(row));
  return { status: 204 };
}

function listExamples({ state, user, ids: [project = 0] }: FakeCall): FakeAnswer {
  const row = rowOf(state, project, user);
  if (row === undefined) return missing;
  const assigned = state.assignments.filter((one) => one.user === user.id);
  const isSeen = (id: number) => row.role === adminRole || assigned.some(({ example }) => example === id);
  const results = state.examples.filter((one) => one.project === project && isSeen(one.id));
  return ok({ count: results.length, next: null, previous: null, results });
}

function createExample({ state, ids: [project = 0], body }: FakeCall): FakeAnswer {
  const example = { id: state.nextId(), project, text: String(body['text']) };
  state.examples.push(example);
  return created(example);
}

/** Of whichever project: the real one does not compare them either. */
function showExample({ state, ids: [, id] }: FakeCall): FakeAnswer {
  const example = state.examples.find((one) => one.id === id);
  return example === undefined ? missing : ok(example);
}

function createAssignment({ state, body }: FakeCall): FakeAnswer {
  const { assignee: user, example } = body as { assignee: number; example: number };
  state.assignments.push({ user, example });
  return created({ assignee: user, example });
}

function createType(kind: string): Route {
  return ({ state, ids: [project = 0], body }) => {
    const type = { id: state.nextId(), project, kind, text: String(body['text']) };
    state.types.push(type);
    return created(type);
  };
}

function createLabel({ state, user, ids: [, example = 0], body }: FakeCall): FakeAnswer {
  const label = { type: Number(body['label']), user: user.id, example };
  state.labels.push(label);
  return created(label);
}

function toggleConfirmation({ state, user, ids: [, example = 0] }: FakeCall): FakeAnswer {
  const isMine = (one: { user: number; example: number }) => one.user === user.id && one.example === example;
  const isOn = state.confirmations.some(isMine);
  if (isOn) state.confirmations = state.confirmations.filter((one) => !isMine(one));
  else state.confirmations.push({ user: user.id, example });
  return created({ example, confirmed_by: user.id });
}

function countLabels(kind: string): Route {
  return ({ state, ids: [project = 0] }) => {
    const distribution = showDistribution(state, project, kind);
    return distribution === null ? serverError : ok(distribution);
  };
}
