/** What tests do in a doccano beside the adapter: over HTTP alone, so that a fake one will do. */
export interface DoccanoSite {
  url: string;
  admin: DoccanoLogin;
  /** An account that may create logins and is no superuser: nothing in the API makes one. */
  makeStaff(login: DoccanoLogin): Promise<void>;
}

export interface DoccanoLogin {
  username: string;
  password: string;
}

export interface DoccanoAnswer {
  status: number;
  headers: Headers;
  /** Parsed JSON, else the text. */
  body: unknown;
}

/** A user who is logged in. */
export interface DoccanoUser {
  id: number;
  username: string;
  token: string;
  /** The path is after `/v1`. */
  call(method: string, path: string, body?: unknown): Promise<DoccanoAnswer>;
  /** The same, and an error for anything but success. */
  ask<Answer>(method: string, path: string, body?: unknown): Promise<Answer>;
}

export async function callDoccano(
  { url }: { url: string },
  method: string,
  path: string,
  { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<DoccanoAnswer> {
  const response = await fetch(`${url}/v1${path}`, {
    method,
    headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: parse(await response.text()) };
}

/** @throws where the account does not let them in */
export async function actAs(site: { url: string }, login: DoccanoLogin): Promise<DoccanoUser> {
  const { status, body } = await callDoccano(site, 'POST', '/auth/login/', { body: login });
  if (status !== 200) throw new Error(`login answered ${status}`);
  const { key: token } = body as { key: string };
  return await toUser(site, token, { authorization: `Token ${token}` });
}

/**
 * The same as the pages in a browser do: with the cookies of the login, and no token.
 *
 * @throws where the account does not let them in
 */
export async function browseAs(site: { url: string }, login: DoccanoLogin): Promise<DoccanoUser> {
  const { status, headers, body } = await callDoccano(site, 'POST', '/auth/login/', {
    body: login,
  });
  if (status !== 200) throw new Error(`login answered ${status}`);
  const cookies = headers.getSetCookie().map((cookie) => cookie.split(';')[0] ?? '');
  const csrf = cookies.find((cookie) => cookie.startsWith('csrftoken='))?.split('=')[1] ?? '';
  const { key: token } = body as { key: string };
  return await toUser(site, token, { cookie: cookies.join('; '), 'x-csrftoken': csrf });
}

async function toUser(site: { url: string }, token: string, headers: Record<string, string>): Promise<DoccanoUser> {
  const call = (method: string, path: string, sent?: unknown) =>
    callDoccano(site, method, path, { headers, body: sent });
  async function ask<Answer>(method: string, path: string, sent?: unknown): Promise<Answer> {
    const answer = await call(method, path, sent);
    if (answer.status < 300) return answer.body as Answer;
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }
  const { id, username } = await ask<{ id: number; username: string }>('GET', '/me');
  return { id, username, token, call, ask };
}

const projectKinds = {
  categories: { project_type: 'DocumentClassification', resourcetype: 'TextClassificationProject' },
  spans: { project_type: 'SequenceLabeling', resourcetype: 'SequenceLabelingProject' },
  texts: { project_type: 'Seq2seq', resourcetype: 'Seq2seqProject' },
};

/** A project of the admin's, as its id. */
export async function makeProject(
  admin: DoccanoUser,
  name: string,
  kind: keyof typeof projectKinds = 'categories',
): Promise<number> {
  const body = { name, description: name, ...projectKinds[kind] };
  return (await admin.ask<{ id: number }>('POST', '/projects', body)).id;
}

/** The administrator, and a project of theirs. */
export async function openProject(site: DoccanoSite, name: string, kind?: keyof typeof projectKinds) {
  const admin = await actAs(site, site.admin);
  return { admin, project: await makeProject(admin, name, kind) };
}

/** The ids of the new examples. */
export async function importExamples(admin: DoccanoUser, project: number, texts: readonly string[]): Promise<number[]> {
  const ids: number[] = [];
  for (const text of texts) {
    const path = `/projects/${project}/examples`;
    ids.push((await admin.ask<{ id: number }>('POST', path, { text })).id);
  }
  return ids;
}

export async function assignExamples(
  admin: DoccanoUser,
  project: number,
  assignee: number,
  examples: readonly number[],
): Promise<void> {
  for (const example of examples) {
    const path = `/projects/${project}/assignments`;
    const { status, body } = await admin.call('POST', path, { assignee, example });
    // 1.8.4 does not have it, and answers an unknown path with a page: every user sees all.
    if (status >= 400 && typeof body === 'string') return;
    if (status >= 300) throw new Error(`POST ${path}: ${status}`);
  }
}

/** The id of a new label for categories or spans. */
export async function makeLabel(
  admin: DoccanoUser,
  project: number,
  text: string,
  kind: 'category' | 'span' = 'category',
): Promise<number> {
  const path = `/projects/${project}/${kind}-types`;
  return (await admin.ask<{ id: number }>('POST', path, { text })).id;
}

/** Labels an example as a whole and confirms it. */
export async function labelAndConfirm(
  user: DoccanoUser,
  project: number,
  example: number,
  label: number,
): Promise<void> {
  const path = `/projects/${project}/examples/${example}`;
  await user.ask('POST', `${path}/categories`, { label });
  await user.ask('POST', `${path}/states`, {});
}

export async function addRow(
  admin: DoccanoUser,
  project: number,
  user: number,
  rolename = 'annotator',
): Promise<DoccanoAnswer> {
  const roles = await admin.ask<{ id: number; name: string }[]>('GET', '/roles');
  const role = roles.find(({ name }) => name === rolename)?.id;
  return await admin.call('POST', `/projects/${project}/members`, { user, role });
}

export async function createUser(admin: DoccanoUser, { username, password }: DoccanoLogin): Promise<DoccanoAnswer> {
  const body = { username, password1: password, password2: password };
  return await admin.call('POST', '/users/create', body);
}

export interface DoccanoRow {
  id: number;
  user: number;
  role: number;
  username: string;
  rolename: string;
}

export async function rowsOf(admin: DoccanoUser, project: number): Promise<DoccanoRow[]> {
  return await admin.ask<DoccanoRow[]>('GET', `/projects/${project}/members`);
}

export async function removeRow(admin: DoccanoUser, project: number, user: number) {
  const row = (await rowsOf(admin, project)).find((one) => one.user === user);
  return await admin.call('DELETE', `/projects/${project}/members`, { ids: [row?.id] });
}

function parse(text: string): unknown {
  try {
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return text;
  }
}
