import { randomBytes } from 'node:crypto';

/** What a fake doccano remembers: of the vendor's tables, what its answers are made of. */
export interface DoccanoState {
  users: FakeUser[];
  projects: FakeProject[];
  rows: FakeRow[];
  examples: FakeExample[];
  /** Kinds of labels, and labels of those kinds. */
  types: { id: number; project: number; kind: string; text: string }[];
  labels: { type: number; user: number; example: number }[];
  assignments: { user: number; example: number }[];
  confirmations: { user: number; example: number }[];
  nextId(): number;
}

export interface FakeUser {
  id: number;
  username: string;
  password: string;
  token: string;
  isSuperuser: boolean;
  isStaff: boolean;
}

export interface FakeProject {
  id: number;
  name: string;
  project_type: string;
  resourcetype: string;
  guideline: string;
}

export interface FakeRow {
  id: number;
  project: number;
  user: number;
  role: number;
}

export interface FakeExample {
  id: number;
  project: number;
  text: string;
}

export const adminRole = 11;
export const fakeRoles = [
  { id: adminRole, name: 'project_admin' },
  { id: 12, name: 'annotator' },
  { id: 13, name: 'annotation_approver' },
];

export function createDoccanoState(): DoccanoState {
  let lastId = 100;
  return {
    users: [],
    projects: [],
    rows: [],
    examples: [],
    types: [],
    labels: [],
    assignments: [],
    confirmations: [],
    nextId: () => ++lastId,
  };
}

export function addUser(
  state: DoccanoState,
  username: string,
  password: string,
  rights: { isSuperuser?: boolean; isStaff?: boolean } = {},
): FakeUser {
  const user = {
    id: state.nextId(),
    username,
    password,
    token: randomBytes(20).toString('hex'),
    isSuperuser: rights.isSuperuser ?? false,
    isStaff: rights.isStaff ?? false,
  };
  state.users.push(user);
  return user;
}

export function showUser({ id, username, isSuperuser, isStaff }: FakeUser) {
  return { id, username, is_superuser: isSuperuser, is_staff: isStaff };
}

export function showRow(state: DoccanoState, { id, user, role }: FakeRow) {
  const { username } = state.users.find((one) => one.id === user) ?? { username: '' };
  return { id, user, role, username, rolename: fakeRoles.find((one) => one.id === role)?.name };
}

export function rowOf(state: DoccanoState, project: number, user: FakeUser): FakeRow | undefined {
  return state.rows.find((row) => row.project === project && row.user === user.id);
}

/** The users who confirmed something, also those who are no member any more. */
export function showProgress(state: DoccanoState, project: number) {
  const examples = state.examples.filter((one) => one.project === project);
  const ids = new Set(examples.map(({ id }) => id));
  const confirmed = state.confirmations.filter(({ example }) => ids.has(example));
  const members = state.rows.filter((row) => row.project === project);
  const users = new Set([...confirmed, ...members].map(({ user }) => user));
  const progress = [...users].map((id) => ({
    user: state.users.find((user) => user.id === id)?.username,
    done: confirmed.filter(({ user }) => user === id).length,
  }));
  return { total: examples.length, progress };
}

/** As doccano does it: null, its status 500, where a label is of a user who is no member. */
export function showDistribution(state: DoccanoState, project: number, kind: string) {
  const types = state.types.filter((one) => one.project === project && one.kind === kind);
  const counts = new Map<number, Record<string, number>>();
  for (const { user } of state.rows.filter((row) => row.project === project)) {
    counts.set(user, Object.fromEntries(types.map(({ text }) => [text, 0])));
  }
  for (const { type, user } of state.labels) {
    const text = types.find(({ id }) => id === type)?.text;
    if (text === undefined) continue;
    const count = counts.get(user);
    if (count === undefined) return null;
    count[text] = (count[text] ?? 0) + 1;
  }
  const named = [...counts].map(([id, count]) => [state.users.find((user) => user.id === id)?.username ?? '', count]);
  return Object.fromEntries(named) as Record<string, Record<string, number>>;
}
