import { expect } from 'vitest';
import {
  actAs,
  addRow,
  assignExamples,
  callDoccano,
  createUser,
  type DoccanoLogin,
  type DoccanoSite,
  type DoccanoUser,
  importExamples,
  labelAndConfirm,
  makeLabel,
  makeProject,
  openProject,
  removeRow,
  rowsOf,
} from './doccano-site.ts';

/** What the adapter relies on, or is careful of: true of the real doccano and of the fake one. */
export interface DoccanoFact {
  name: string;
  /** Not so in older versions. */
  since?: string;
  run(site: DoccanoSite): Promise<void>;
}

export const doccanoFacts: readonly DoccanoFact[] = [
  { name: 'gives the same token at every login', run: logsIn },
  { name: 'refuses a bad token with 403, not 401', run: refusesTokens },
  { name: 'asks for a CSRF token as soon as there is a session cookie', run: checksCookies },
  { name: 'makes accounts by username, with a password that is not weak', run: makesAccounts },
  { name: 'shows every username to every user who is logged in', run: showsUsers },
  { name: 'keeps one row for each member of a project', run: keepsRows },
  { name: 'says 204 to every removal, and passes over the own row', run: removesSilently },
  { name: 'has no members in a project that is not there', run: hasNoSuchProject },
  {
    name: 'shows a member what is assigned, and any example by its id',
    since: '1.8.5',
    run: showsExamples,
  },
  { name: 'cannot count labels while a user who made some is gone', run: countsLabels },
  { name: 'keeps a guideline as it is written, but for spaces at its ends', run: keepsGuidelines },
  { name: 'lets people rename themselves, and change the password', run: letsRename },
  { name: 'lets staff make accounts, and act where they are project_admin', run: limitsStaff },
];

let made = 0;

/** For a person who has none yet. */
export function newLogin(): DoccanoLogin {
  made += 1;
  return { username: `person.${process.pid}.${made}@opentrain.work`, password: 'Kq7-vLx2-mZ' };
}

export async function makePerson(site: DoccanoSite, admin: DoccanoUser): Promise<DoccanoUser> {
  const login = newLogin();
  expect(await createUser(admin, login)).toMatchObject({ status: 201 });
  return await actAs(site, login);
}

const forbidden = { status: 403, body: { detail: expect.any(String) as string } };

async function logsIn(site: DoccanoSite): Promise<void> {
  const [one, two] = [await actAs(site, site.admin), await actAs(site, site.admin)];
  expect(one.token).toBe(two.token);
  const body = { ...site.admin, password: 'not this one' };
  expect(await callDoccano(site, 'POST', '/auth/login/', { body })).toMatchObject({
    status: 400,
    body: { non_field_errors: [expect.any(String)] },
  });
}

async function refusesTokens(site: DoccanoSite): Promise<void> {
  const headers = { authorization: 'Token 0123456789abcdef' };
  for (const path of ['/me', '/users', '/roles', '/projects', '/projects/1/members']) {
    expect(await callDoccano(site, 'GET', path, { headers }), path).toMatchObject(forbidden);
  }
  expect(await callDoccano(site, 'GET', '/me')).toMatchObject(forbidden);
}

async function checksCookies(site: DoccanoSite): Promise<void> {
  const { headers, body } = await callDoccano(site, 'POST', '/auth/login/', { body: site.admin });
  const session = headers.getSetCookie().find((cookie) => cookie.startsWith('sessionid='));
  const cookie = session?.split(';')[0] ?? 'none';
  const authorization = `Token ${(body as { key: string }).key}`;
  const { username, password } = newLogin();
  const sent = { body: { username, password1: password, password2: password } };
  const withCookie = { ...sent, headers: { authorization, cookie } };
  expect(await callDoccano(site, 'POST', '/users/create', withCookie)).toMatchObject(forbidden);
  const withToken = { ...sent, headers: { authorization } };
  expect(await callDoccano(site, 'POST', '/users/create', withToken)).toMatchObject({
    status: 201,
  });
}

async function makesAccounts(site: DoccanoSite): Promise<void> {
  const admin = await actAs(site, site.admin);
  const login = newLogin();
  const { status, body } = await createUser(admin, login);
  expect({ status, body }).toEqual({
    status: 201,
    body: { id: expect.any(Number) as number, username: login.username, is_superuser: false, is_staff: false },
  });
  const { username } = login;
  const refused = [
    login,
    { ...login, username: username.replace('person', 'Person') },
    { ...newLogin(), username: `o'neil.${username}` },
    { ...newLogin(), username: `${'a'.repeat(140)}${username}` },
    { ...newLogin(), password: 'Kq7-vL' },
    { username: `x${username}`, password: `x${username}` },
  ];
  for (const other of refused) {
    expect(await createUser(admin, other), other.username).toMatchObject({ status: 400 });
  }
  expect(await admin.ask('GET', `/users?q=${username.slice(2, -4)}`)).toEqual([body]);
}

async function showsUsers(site: DoccanoSite): Promise<void> {
  const person = await makePerson(site, await actAs(site, site.admin));
  const users = await person.ask<{ username: string }[]>('GET', '/users');
  expect(users.map(({ username }) => username)).toContain(site.admin.username);
  const roles = await person.ask<{ name: string }[]>('GET', '/roles');
  expect(roles.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['project_admin', 'annotator', 'annotation_approver']),
  );
  expect(await createUser(person, newLogin())).toMatchObject(forbidden);
}

async function keepsRows(site: DoccanoSite): Promise<void> {
  const admin = await actAs(site, site.admin);
  const [project, other] = [await makeProject(admin, 'rows'), await makeProject(admin, 'others')];
  const { id: user, username } = await makePerson(site, admin);
  const { status, body } = await addRow(admin, project, user);
  expect({ status, body }).toMatchObject({ status: 201, body: { user, username, rolename: 'annotator' } });
  expect(await admin.ask('GET', `/projects/${project}/members?user=${user}`)).toEqual([body]);
  expect(await admin.ask('GET', `/projects/${other}/members?user=${user}`)).toEqual([]);
  expect(await addRow(admin, project, user)).toMatchObject({ status: 400 });
  expect(await addRow(admin, project, 99_999)).toMatchObject({ status: 400 });
  const unknown = await admin.call('GET', `/projects/${project}/members?user=99999`);
  expect(unknown).toMatchObject({ status: 400 });
}

async function removesSilently(site: DoccanoSite): Promise<void> {
  const { admin, project } = await openProject(site, 'removals');
  const path = `/projects/${project}/members`;
  expect(await admin.call('DELETE', path, { ids: [99_999] })).toMatchObject({ status: 204 });
  expect(await admin.call('DELETE', path)).toMatchObject({ status: 500 });
  expect(await removeRow(admin, project, admin.id)).toMatchObject({ status: 204 });
  expect(await rowsOf(admin, project)).toMatchObject([{ user: admin.id }]);
}

async function hasNoSuchProject(site: DoccanoSite): Promise<void> {
  const admin = await actAs(site, site.admin);
  expect(await rowsOf(admin, 99_999)).toEqual([]);
  expect(await admin.call('GET', '/projects/99999')).toMatchObject({ status: 404 });
  expect(await addRow(admin, 99_999, admin.id)).toMatchObject({ status: 400 });
}

async function showsExamples(site: DoccanoSite): Promise<void> {
  const admin = await actAs(site, site.admin);
  const [project, other] = [await makeProject(admin, 'mine'), await makeProject(admin, 'theirs')];
  const [first = 0, second = 0] = await importExamples(admin, project, ['one', 'two']);
  const [foreign] = await importExamples(admin, other, ['not theirs']);
  const person = await makePerson(site, admin);
  await addRow(admin, project, person.id);
  const path = `/projects/${project}/examples`;
  expect(await person.ask('GET', path)).toMatchObject({ count: 0 });
  await assignExamples(admin, project, person.id, [first]);
  expect(await person.ask('GET', path)).toMatchObject({ count: 1, results: [{ id: first }] });
  expect(await person.call('GET', `${path}/${second}`)).toMatchObject({ status: 200 });
  const text = { status: 200, body: { text: 'not theirs' } };
  expect(await person.call('GET', `${path}/${foreign}`)).toMatchObject(text);
  expect(await person.call('GET', `/projects/${other}`)).toMatchObject(forbidden);
}

async function countsLabels(site: DoccanoSite): Promise<void> {
  const { admin, project } = await openProject(site, 'labels');
  const label = await makeLabel(admin, project, 'good');
  const [example = 0] = await importExamples(admin, project, ['one']);
  const person = await makePerson(site, admin);
  await addRow(admin, project, person.id);
  await labelAndConfirm(person, project, example, label);
  const path = `/projects/${project}/metrics`;
  const { username } = admin;
  const counted = { [username]: { good: 0 }, [person.username]: { good: 1 } };
  const progress = expect.arrayContaining([
    { user: username, done: 0 },
    { user: person.username, done: 1 },
  ]) as unknown;
  expect(await admin.ask('GET', `${path}/category-distribution`)).toEqual(counted);
  await removeRow(admin, project, person.id);
  const count = await admin.call('GET', `${path}/category-distribution`);
  expect(count).toMatchObject({ status: 500 });
  expect(await admin.ask('GET', `${path}/member-progress`)).toEqual({ total: 1, progress });
  await addRow(admin, project, person.id);
  expect(await admin.ask('GET', `${path}/category-distribution`)).toEqual(counted);
}

async function keepsGuidelines(site: DoccanoSite): Promise<void> {
  const { admin, project } = await openProject(site, 'guided');
  const person = await makePerson(site, admin);
  await addRow(admin, project, person.id);
  const path = `/projects/${project}`;
  const write = async (guideline: unknown, user = admin) => (await user.call('PATCH', path, { guideline })).status;
  const seen = async () => (await person.ask<{ guideline: string }>('GET', path)).guideline;
  expect(await seen()).toBe('');
  const text = '# Cars\r\n\n<script>alert(1)</script> <!-- --> [x](javascript:alert(1))\n\n    e\u0301 \u{1F600}';
  expect(await write(`\n ${text}\u2028\n`)).toBe(200);
  expect(await seen()).toBe(text);
  for (const refused of [null, 'a\0b', 'a\ud800b', 'x'.repeat(3_000_000)]) expect(await write(refused)).toBe(400);
  expect(await write('mine', person)).toBe(403);
  expect(await seen()).toBe(text);
  expect(await write('')).toBe(200);
  expect(await seen()).toBe('');
  expect(await admin.call('PATCH', '/projects/99999', { guideline: 'x' })).toMatchObject({ status: 404 });
}

async function letsRename(site: DoccanoSite): Promise<void> {
  const person = await makePerson(site, await actAs(site, site.admin));
  const { username } = newLogin();
  await person.ask('PATCH', '/auth/user/', { username });
  expect(await person.ask('GET', '/me')).toMatchObject({ id: person.id, username });
  const password = 'another-Pm4-heron';
  const body = { new_password1: password, new_password2: password };
  await person.ask('POST', '/auth/password/change/', body);
  expect(await actAs(site, { username, password })).toMatchObject({ id: person.id });
}

async function limitsStaff(site: DoccanoSite): Promise<void> {
  const admin = await actAs(site, site.admin);
  const login = newLogin();
  await site.makeStaff(login);
  const staff = await actAs(site, login);
  const project = await makeProject(admin, 'limited');
  const person = await makePerson(site, staff);
  expect(await addRow(staff, project, person.id)).toMatchObject(forbidden);
  const path = `/projects/${project}/members`;
  expect(await staff.call('GET', path)).toMatchObject(forbidden);
  expect(await staff.call('GET', '/projects/99999/members')).toMatchObject(forbidden);
  await addRow(admin, project, staff.id, 'project_admin');
  expect(await addRow(staff, project, person.id)).toMatchObject({ status: 201 });
}
