import { expect } from 'vitest';
import type { Adapter, Added, Person, UsageObservation } from '../../src/adapters/adapter.ts';
import { makePerson, newLogin } from './doccano-facts.ts';
import { doccanoAdapter, doccanoPerson } from './doccano-harness.ts';
import {
  actAs,
  addRow,
  assignExamples,
  type DoccanoSite,
  type DoccanoUser,
  importExamples,
  labelAndConfirm,
  makeLabel,
  makeProject,
  openProject,
  rowsOf,
} from './doccano-site.ts';
import { readWork } from './read-work.ts';

/** What the adapter does, seen by the people it is done to: in the real doccano and the fake one. */
export interface DoccanoStory {
  name: string;
  run(site: DoccanoSite): Promise<void>;
}

export const doccanoStories: readonly DoccanoStory[] = [
  { name: 'lets a trainer in who had no account, and counts what they do', run: letsIn },
  { name: 'leaves a removed trainer what it says, and no more', run: leavesWhatItSays },
  { name: 'gives a trainer who is added again their work back', run: givesBack },
  { name: 'leaves an account alone that was there before', run: leavesAccounts },
  { name: 'tells of an account whose making was interrupted', run: tellsLater },
  { name: 'finds and removes a trainer who took another name', run: findsRenamed },
  { name: 'counts the labels of each type of project that has them', run: countsByType },
  { name: 'refuses a weak password, and quotes nothing', run: refusesWeak },
  { name: 'makes no account for a project that is not there', run: makesNoneInVain },
  { name: 'removes neither its own account nor the only administrator', run: keepsAdmins },
  { name: 'finds out what an account may do', run: checksAccounts },
  { name: 'takes a token instead of a name and a password', run: takesTokens },
];

const { signal } = new AbortController();
const usage = { timeZone: 'UTC', firstDay: '2026-01-01', changedSince: null };
let people = 0;

/** A person who is in no other story. */
function newPerson(): Person & { newPassword: string } {
  people += 1;
  return doccanoPerson(`story.${process.pid}.${people}`);
}

async function readUsage(adapter: Adapter, project: number): Promise<UsageObservation[]> {
  return (await readWork(adapter, String(project), usage, signal)).work;
}

interface Hired {
  admin: DoccanoUser;
  adapter: Adapter;
  project: number;
  person: Person & { newPassword: string };
  added: Added;
  trainer: DoccanoUser;
  examples: number[];
}

/** A trainer who has labelled and confirmed the first of two examples. */
async function hire(site: DoccanoSite): Promise<Hired> {
  const admin = await actAs(site, site.admin);
  const adapter = doccanoAdapter(site);
  const project = await makeProject(admin, 'signs');
  const examples = await importExamples(admin, project, ['one', 'two']);
  const label = await makeLabel(admin, project, 'good');
  const person = newPerson();
  const added = await adapter.addMember(String(project), person, signal);
  const trainer = await actAs(site, { username: person.email, password: person.newPassword });
  await assignExamples(admin, project, trainer.id, examples);
  await labelAndConfirm(trainer, project, examples[0] ?? 0, label);
  return { admin, adapter, project, person, added, trainer, examples };
}

async function letsIn(site: DoccanoSite): Promise<void> {
  const { admin, adapter, project, person, added, trainer, examples } = await hire(site);
  expect(added).toEqual({
    id: String(trainer.id),
    email: person.email,
    invitation: { kind: 'password', url: `${site.url}/auth`, username: person.email },
  });
  expect(await trainer.ask('GET', '/projects')).toMatchObject({ results: [{ id: project }] });
  const path = `/projects/${project}/examples`;
  expect(await trainer.ask('GET', path)).toMatchObject({ count: examples.length });
  expect(new Set(await readUsage(adapter, project))).toEqual(
    new Set([
      { memberId: String(trainer.id), email: person.email, of: 'total', tasks: 1, labels: 1 },
      { memberId: String(admin.id), email: admin.username, of: 'total', tasks: 0, labels: 0 },
    ]),
  );
}

async function leavesWhatItSays(site: DoccanoSite): Promise<void> {
  const { admin, adapter, project, person, added, trainer, examples } = await hire(site);
  const other = await makeProject(admin, 'lamps');
  await adapter.removeMember(String(project), added, signal);
  const { removal } = adapter.capabilities;
  expect(removal).toMatchObject({ effect: 'membership_only' });

  const login = { username: person.email, password: person.newPassword };
  expect(await actAs(site, login)).toMatchObject({ id: trainer.id });
  const users = await trainer.ask<{ username: string }[]>('GET', '/users');
  expect(users.map(({ username }) => username)).toContain(admin.username);
  expect(await trainer.ask('GET', '/projects')).toMatchObject({ count: 0 });
  const [example = 0] = examples;
  const closed = ['', '/members', '/examples', `/examples/${example}`, '/metrics/member-progress'];
  for (const path of closed) {
    expect((await trainer.call('GET', `/projects/${project}${path}`)).status, path).toBe(403);
  }
  const confirmation = `/projects/${project}/examples/${example}/states`;
  expect(await trainer.call('POST', confirmation, {})).toMatchObject({ status: 403 });

  await addRow(admin, other, trainer.id);
  const byTheWay = await trainer.call('GET', `/projects/${other}/examples/${example}`);
  expect(byTheWay).toMatchObject({ status: 200, body: { text: 'one' } });

  // doccano still lists what they confirmed, and the labels of no user.
  expect(new Set(await readUsage(adapter, project))).toEqual(
    new Set([
      { memberId: String(trainer.id), email: person.email, of: 'total', tasks: 1 },
      { memberId: String(admin.id), email: admin.username, of: 'total', tasks: 0 },
    ]),
  );
}

async function givesBack(site: DoccanoSite): Promise<void> {
  const { adapter, project, person, added, trainer } = await hire(site);
  const group = String(project);
  const before = await readUsage(adapter, project);
  await adapter.removeMember(group, added, signal);
  const known = { ...person, memberId: added.id };
  const again = await adapter.addMember(group, known, signal);
  expect(again).toEqual({ id: added.id, email: person.email });
  expect(new Set(await readUsage(adapter, project))).toEqual(new Set(before));
  const examples = await trainer.ask('GET', `/projects/${project}/examples`);
  expect(examples).toMatchObject({ count: 2 });
}

async function leavesAccounts(site: DoccanoSite): Promise<void> {
  const { admin, project } = await openProject(site, 'signs');
  const user = await makePerson(site, admin);
  const person = { ...newPerson(), email: user.username.toUpperCase() };
  const adapter = doccanoAdapter(site);
  const added = await adapter.addMember(String(project), person, signal);
  expect(added).toEqual({ id: String(user.id), email: user.username });
  const login = { username: user.username, password: person.newPassword };
  await expect(actAs(site, login)).rejects.toThrow('login answered 400');
}

async function tellsLater(site: DoccanoSite): Promise<void> {
  const admin = await actAs(site, site.admin);
  const project = String(await makeProject(admin, 'signs'));
  const person = newPerson();
  const early = doccanoAdapter(site);
  const { id } = await early.addMember(project, person, signal);
  await early.removeMember(project, { id, email: person.email }, signal);
  // As it is when the answers were lost.
  const again = await doccanoAdapter(site).addMember(project, person, signal);
  const invitation = { kind: 'password', username: person.email };
  expect(again).toMatchObject({ id, invitation });
}

async function findsRenamed(site: DoccanoSite): Promise<void> {
  const { admin, adapter, project, person, added, trainer } = await hire(site);
  const { username } = newLogin();
  await trainer.ask('PATCH', '/auth/user/', { username });
  const known = { ...person, memberId: added.id };
  const found = await adapter.findMember(String(project), known, signal);
  expect(found).toEqual({ id: added.id, email: username });
  await adapter.removeMember(String(project), added, signal);
  expect(await rowsOf(admin, project)).toMatchObject([{ user: admin.id }]);
}

async function countsByType(site: DoccanoSite): Promise<void> {
  const admin = await actAs(site, site.admin);
  const adapter = doccanoAdapter(site);
  const of = { memberId: String(admin.id), email: admin.username };
  const spans = await makeProject(admin, 'spans', 'spans');
  const label = await makeLabel(admin, spans, 'sign', 'span');
  const [example = 0] = await importExamples(admin, spans, ['a sign and a lamp']);
  for (const [start, end] of [
    [2, 6],
    [13, 17],
  ]) {
    const body = { label, start_offset: start, end_offset: end };
    await admin.ask('POST', `/projects/${spans}/examples/${example}/spans`, body);
  }
  expect(await readUsage(adapter, spans)).toEqual([{ ...of, of: 'total', tasks: 0, labels: 2 }]);
  const texts = await makeProject(admin, 'texts', 'texts');
  const [text = 0] = await importExamples(admin, texts, ['one']);
  await admin.ask('POST', `/projects/${texts}/examples/${text}/states`, {});
  expect(await readUsage(adapter, texts)).toEqual([{ ...of, of: 'total', tasks: 1 }]);
}

async function refusesWeak(site: DoccanoSite): Promise<void> {
  const project = await makeProject(await actAs(site, site.admin), 'signs');
  const person = newPerson();
  const adapter = doccanoAdapter(site);
  for (const newPassword of ['Kq7-vL', person.email]) {
    const error = await adapter
      .addMember(String(project), { ...person, newPassword }, signal)
      .catch((one: unknown) => one as Error & { code: string });
    expect(error).toMatchObject({ code: 'invalid', status: 400 });
    const { message } = error as Error;
    expect(message).toContain('the password is too short, too common or too like the username');
    expect(message).not.toContain(newPassword);
    expect(message).not.toContain(person.email);
  }
}

async function makesNoneInVain(site: DoccanoSite): Promise<void> {
  const admin = await actAs(site, site.admin);
  const adapter = doccanoAdapter(site);
  const person = newPerson();
  await expect(adapter.addMember('99999', person, signal)).rejects.toMatchObject({
    code: 'not_found',
  });
  expect(await admin.ask('GET', `/users?q=${person.email}`)).toEqual([]);
  const { username } = await makePerson(site, admin);
  const known = { ...person, email: username };
  await expect(adapter.addMember('99999', known, signal)).rejects.toMatchObject({ code: 'invalid', status: 400 });
}

async function keepsAdmins(site: DoccanoSite): Promise<void> {
  const admin = await actAs(site, site.admin);
  const adapter = doccanoAdapter(site);
  const project = await makeProject(admin, 'signs');
  const remove = (id: number) => adapter.removeMember(String(project), { id: String(id), email: null }, signal);
  await expect(remove(admin.id)).rejects.toThrow('Gangway uses this account');

  const other = await makePerson(site, admin);
  await addRow(admin, project, other.id, 'project_admin');
  const login = newLogin();
  await site.makeStaff(login);
  const staff = await actAs(site, login);
  await addRow(admin, project, staff.id, 'project_admin');
  await remove(staff.id);
  // doccano itself would let the last one go.
  const row = (await rowsOf(admin, project)).find(({ user }) => user === admin.id);
  await other.call('DELETE', `/projects/${project}/members`, { ids: [row?.id] });
  await expect(remove(other.id)).rejects.toThrow('the project has no other administrator');
  expect(await rowsOf(admin, project)).toMatchObject([{ user: other.id }]);
}

async function checksAccounts(site: DoccanoSite): Promise<void> {
  const admin = await actAs(site, site.admin);
  const check = async (changes: object) => await doccanoAdapter(site, changes).check(signal);
  const unassigned = { says: expect.stringContaining('assigned') as string, isFailure: false };
  expect(await check({})).toMatchObject([unassigned]);

  const staff = newLogin();
  await site.makeStaff(staff);
  const nowhere = { says: expect.stringContaining('nor project_admin of a project') as string, isFailure: true };
  expect(await check(staff)).toMatchObject([unassigned, nowhere]);
  const { id } = await actAs(site, staff);
  await addRow(admin, await makeProject(admin, 'signs'), id, 'annotator');
  expect(await check(staff)).toMatchObject([unassigned, nowhere]);
  await addRow(admin, await makeProject(admin, 'lamps'), id, 'project_admin');
  expect(await check(staff)).toMatchObject([unassigned]);

  const { username } = await makePerson(site, admin);
  await expect(check({ username, password: 'Kq7-vLx2-mZ' })).rejects.toThrow('Staff status');
  await expect(check({ password: 'not this one' })).rejects.toMatchObject({
    code: 'unauthenticated',
    status: 400,
    message: expect.stringContaining('refuses the username or the password') as string,
  });
  await expect(check({ role: 'reviewer' })).rejects.toThrow(
    'no role "reviewer", only project_admin, annotator, annotation_approver',
  );
}

async function takesTokens(site: DoccanoSite): Promise<void> {
  const { token } = await actAs(site, site.admin);
  const settings = { username: undefined, password: undefined };
  await doccanoAdapter(site, { ...settings, token }).check(signal);
  await expect(doccanoAdapter(site, { ...settings, token: 'f'.repeat(40) }).check(signal)).rejects.toMatchObject({
    code: 'forbidden',
    message: expect.stringContaining('is the token') as string,
  });
}
