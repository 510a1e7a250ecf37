import { describe, expect, it } from 'vitest';
import { openDoccanoFake } from '../../support/doccano-fake.ts';
import { doccanoAdapter, doccanoPerson } from '../../support/doccano-harness.ts';
import { actAs, makeProject, openProject as openSigns, rowsOf } from '../../support/doccano-site.ts';
import { listAll } from '../../support/list-all.ts';

const { signal } = new AbortController();
const person = doccanoPerson('amara');

async function openProject() {
  const fake = await openDoccanoFake();
  const { admin, project } = await openSigns(fake, 'signs');
  const adapter = doccanoAdapter(fake);
  await adapter.check(signal);
  fake.requests.splice(0);
  const lines = () => fake.requests.splice(0).map(({ line }) => line);
  return { fake, admin, adapter, project: String(project), lines };
}

describe('the requests of the adapter doccano', () => {
  it('are few', async () => {
    const { fake, adapter, project, lines } = await openProject();
    const members = `/projects/${project}/members`;
    await adapter.findMember(project, person, signal);
    expect(lines()).toEqual(['GET /users']);
    const { id, email } = await adapter.addMember(project, person, signal);
    expect(lines()).toEqual([
      'GET /roles',
      'GET /users',
      `GET /projects/${project}`,
      'POST /users/create',
      `POST ${members}`,
    ]);
    const known = { ...person, memberId: id };
    await adapter.findMember(project, known, signal);
    expect(lines()).toEqual([`GET ${members}`]);
    await adapter.findMember(project, person, signal);
    expect(lines()).toEqual(['GET /users', `GET ${members}`]);
    await listAll(adapter, project, signal);
    expect(lines()).toEqual([`GET ${members}`]);
    await adapter.removeMember(project, { id, email }, signal);
    expect(lines()).toEqual([`GET ${members}`, `DELETE ${members}`]);
    await adapter.findMember(project, known, signal);
    expect(lines()).toEqual([`GET ${members}`, 'GET /users']);
    await adapter.addMember(project, known, signal);
    expect(lines()).toEqual(['GET /roles', 'GET /users', `POST ${members}`]);
    await adapter.addMember(project, person, signal);
    expect(lines()).toEqual(['GET /roles', 'GET /users', 'POST /auth/login/', `POST ${members}`, `GET ${members}`]);
    await adapter.check(signal);
    expect(lines()).toEqual(['GET /me', 'GET /roles']);
    await adapter.writeGuidelines?.(project, '# Cars', signal);
    await adapter.readGuidelines?.(project, signal);
    expect(lines()).toEqual([`PATCH /projects/${project}`, `GET /projects/${project}`]);
    const usage = { timeZone: 'UTC', firstDay: '2026-01-01', changedSince: null };
    await Array.fromAsync(adapter.readUsage?.(project, usage, signal) ?? []);
    const metrics = `/projects/${project}/metrics`;
    expect(lines()).toEqual([
      `GET /projects/${project}`,
      `GET ${metrics}/member-progress`,
      `GET ${metrics}/category-distribution`,
      'GET /users',
    ]);
    expect(fake.requests).toEqual([]);
  });

  it('never carry a cookie, although every login sets some', async () => {
    const { fake, adapter, project } = await openProject();
    const added = await adapter.addMember(project, person, signal);
    fake.endToken(fake.admin.username);
    await adapter.removeMember(project, added, signal);
    await adapter.addMember(project, person, signal);
    const { requests } = fake;
    expect(requests.filter(({ line }) => line === 'POST /auth/login/').length).toBeGreaterThan(1);
    expect(requests.filter(({ headers }) => headers.cookie !== undefined)).toEqual([]);
  });

  it('are not sent for a project whose id is not a canonical number', async () => {
    const { adapter, lines } = await openProject();
    const known = { ...person, memberId: '101' };
    const invalid = { code: 'invalid', message: expect.stringContaining('whole number') as string };
    for (const group of ['', '0', '007', '-1', '1.0', '1e3', ' 1', '..', 'a', '٣', '1/2', '1?x=2']) {
      const calls = [
        adapter.findMember(group, known, signal),
        adapter.removeMember(group, { id: '101', email: null }, signal),
        listAll(adapter, group, signal),
        Array.fromAsync(
          adapter.readUsage?.(group, { timeZone: 'UTC', firstDay: '2026-01-01', changedSince: null }, signal) ?? [],
        ),
      ];
      for (const call of calls) await expect(call, group).rejects.toMatchObject(invalid);
    }
    expect(lines()).toEqual([]);
    await expect(adapter.addMember('007', person, signal)).rejects.toMatchObject(invalid);
    expect(lines()).toEqual(['GET /roles', 'GET /users']);
  });

  it('are not sent for an id that doccano cannot have', async () => {
    const { adapter, project, lines } = await openProject();
    await adapter.removeMember(project, { id: 'invited:cmu1', email: null }, signal);
    expect(lines()).toEqual([]);
  });
});

describe('an account whose creation was not answered', () => {
  it('is used by the next attempt, which returns its password', async () => {
    const { fake, adapter, project } = await openProject();
    fake.loseNextAnswer('POST /users/create');
    const soon = AbortSignal.timeout(300);
    await expect(adapter.addMember(project, person, soon)).rejects.toMatchObject({
      code: 'unavailable',
    });
    const added = await adapter.addMember(project, person, signal);
    const { email: username, newPassword: password } = person;
    expect(added.invitation).toMatchObject({ kind: 'password', username });
    expect(await actAs(fake, { username, password })).toMatchObject({ id: Number(added.id) });
  });
});

it('makes one account for a person who is added to two projects at the same time', async () => {
  const { admin, adapter, project } = await openProject();
  const other = String(await makeProject(admin, 'lamps'));
  const groups = [project, other];
  const added = await Promise.all(groups.map((one) => adapter.addMember(one, person, signal)));
  expect(new Set(added.map(({ id }) => id)).size).toBe(1);
  for (const group of groups) {
    const [, row] = await rowsOf(admin, Number(group));
    expect(row).toMatchObject({ username: person.email, rolename: 'annotator' });
  }
});

it('makes accounts in lower case, and prefers the one in lower case', async () => {
  const { fake, adapter, project } = await openProject();
  const shouted = { ...doccanoPerson('shouted'), email: 'SHOUTED@opentrain.work' };
  expect(await adapter.addMember(project, shouted, signal)).toMatchObject({
    email: 'shouted@opentrain.work',
  });
  const password = 'Kq7-vLx2-mZ';
  await fake.makeStaff({ username: 'Twice@opentrain.work', password });
  await fake.makeStaff({ username: 'twice@opentrain.work', password });
  expect(await adapter.addMember(project, doccanoPerson('twice'), signal)).toMatchObject({
    email: 'twice@opentrain.work',
  });
});

it('needs a password for a person without an account', async () => {
  const { adapter, project } = await openProject();
  const { trainerId, email, displayName, memberId } = person;
  const withoutPassword = { trainerId, email, displayName, memberId };
  await expect(adapter.addMember(project, withoutPassword, signal)).rejects.toMatchObject({
    code: 'invalid',
    message: 'The person has no account yet, and no password was given for a new one',
  });
});

it('refuses an address that cannot be a username', async () => {
  const { adapter, project } = await openProject();
  for (const email of [`o'neil@x.example`, 'a b@x.example', `${'a'.repeat(150)}@x.example`]) {
    expect(await adapter.findMember(project, { ...person, email }, signal)).toBeNull();
    await expect(adapter.addMember(project, { ...person, email }, signal)).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining('at most 150 letters') as string,
    });
  }
});
