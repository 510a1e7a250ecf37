import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Adapter } from '../../src/adapters/adapter.ts';
import { newLogin } from '../support/doccano-facts.ts';
import { doccanoAdapter } from '../support/doccano-harness.ts';
import {
  actAs,
  addRow,
  assignExamples,
  browseAs,
  createUser,
  type DoccanoUser,
  importExamples,
  labelAndConfirm,
  makeLabel,
  makeProject,
  openProject,
} from '../support/doccano-site.ts';
import { type DoccanoServer, doccanoVersion, openDoccano } from './doccano-server.ts';
import { examineTool, openPages } from './doctor.ts';
import { type Hired, openLoop, readUsage } from './loop.ts';
import { freePort } from './server-process.ts';

/** From hire to end, in a doccano that really runs: what is stored, and what people can do. */

let server: DoccanoServer | null = null;

beforeAll(async () => {
  server = await openDoccano();
});
afterAll(async () => await server?.stop());

const usual = { adapter: 'doccano' };
const left =
  'their login stays, because doccano cannot end logins: they no longer see the project, but they still see all usernames, and any example by its id while they are in another project';

describe(`the whole loop with doccano ${doccanoVersion}`, () => {
  it('lets trainers log in with the password that was given, and leaves what is said', async ({ skip }) => {
    if (server === null) return skip();
    const site = server;
    const { admin, project } = await openProject(site, 'signs');
    const examples = await importExamples(admin, project, ['one', 'two', 'three']);
    const label = await makeLabel(admin, project, 'good');
    const adapter = doccanoAdapter(site);
    const { hire, end } = await openLoop(adapter, project);
    const [ada, ben] = await hire('ada', 'ben');

    const [adas, bens] = [await enter(site, ada), await enter(site, ben)];
    expect(await adas.ask('GET', '/projects')).toMatchObject({ results: [{ id: project }] });
    await assignExamples(admin, project, adas.id, examples);
    await assignExamples(admin, project, bens.id, examples);
    const path = `/projects/${project}/examples`;
    expect(await adas.ask('GET', path)).toMatchObject({ count: 3 });

    const [one = 0, two = 0, three = 0] = examples;
    await labelAndConfirm(adas, project, one, label);
    await labelAndConfirm(adas, project, two, label);
    await labelAndConfirm(bens, project, three, label);
    const worked = async (hired: Hired) => await totalOf(adapter, project, hired);
    expect(await worked(ada)).toEqual({ tasks: 2, labels: 2 });
    expect(await worked(ben)).toEqual({ tasks: 1, labels: 1 });
    // Confirming it again takes it back; a label is deleted by itself.
    await adas.ask('POST', `${path}/${two}/states`, {});
    expect(await worked(ada)).toEqual({ tasks: 1, labels: 2 });
    const [made] = await adas.ask<{ id: number }[]>('GET', `${path}/${two}/categories`);
    await adas.ask('DELETE', `${path}/${two}/categories/${made?.id}`);
    expect(await worked(ada)).toEqual({ tasks: 1, labels: 1 });

    const login = await loginOf(ada);
    await end(ada);
    expect(await ada.receipts()).toEqual([
      ['add added', null],
      ['remove removed', `They may still get in: ${left}`],
    ]);
    expect(await ada.invitation()).toBeNull();
    for (const closed of ['', '/members', '/examples', `/examples/${one}`]) {
      expect(await adas.call('GET', `/projects/${project}${closed}`)).toMatchObject({
        status: 403,
      });
    }
    const again = await browseAs(site, login);
    expect(await again.ask('GET', '/projects')).toMatchObject({ count: 0 });
    const users = await again.ask<{ username: string }[]>('GET', '/users');
    expect(users.map(({ username }) => username)).toContain(ben.email);
    const elsewhere = await makeProject(admin, 'lamps');
    expect(await again.call('GET', `/projects/${elsewhere}/examples/${one}`)).toMatchObject({
      status: 403,
    });

    await labelAndConfirm(bens, project, one, label);
    // doccano counts no labels while a trainer who made some is gone.
    expect(await worked(ada)).toEqual({ tasks: 1 });
    expect(await worked(ben)).toEqual({ tasks: 2 });
    await end(ben);
    expect(await bens.call('GET', `/projects/${project}`)).toMatchObject({ status: 403 });
  });
});

describe(`gangway doctor with doccano ${doccanoVersion}`, () => {
  const root = 'is "url" the root of doccano, without "/v1"?';
  const credentials = 'is the token (or the username and password) one of this doccano, and "url" its root?';
  const inOrder = [
    'ok Reachable, settings valid',
    `warning A removed member may still get in: ${left} → Read in the README of the adapter what locks people out`,
    'warning From doccano 1.8.5 on, a new member sees no examples until they are assigned → Assign examples to new members in doccano: Dataset, Action, Assign to member',
  ];
  const mend = '→ Fix tools.studio in the configuration, or the tool';

  it.for([
    [
      ...(['no server listens', async () => `http://127.0.0.1:${await freePort()}`] as const),
      'Could not log in: ECONNREFUSED; does it run, and is "url" right?',
    ],
    [
      ...(['it is below the root', async ({ url }: DoccanoServer) => `${url}/projects`] as const),
      `Could not log in: answered 403; ${credentials}`,
    ],
    [
      ...(['something else answers with pages', openPages] as const),
      `Could not log in: the answer is not JSON; ${root}`,
    ],
  ] as const)('says what is wrong with the address where %s', async ([, toUrl, says], { skip }) => {
    if (server === null) return skip();
    const settings = { ...usual, ...server.admin, url: await toUrl(server) };
    expect(await examineTool(settings)).toEqual([`failure ${says} ${mend}`]);
  });

  it('says what is wrong with the credentials', async ({ skip }) => {
    if (server === null) return skip();
    const { url, admin } = server;
    const wrong = { ...usual, url, username: admin.username, password: 'Kq7-vLx2-mZ' };
    expect(await examineTool(wrong)).toEqual([
      `failure Could not log in: doccano refuses the username or the password (400); ${credentials} ${mend}`,
    ]);
    expect(await examineTool({ ...usual, url, token: 'f'.repeat(40) })).toEqual([
      `failure Could not read the own account: answered 403: Invalid token; ${credentials} ${mend}`,
    ]);
  });

  it('names an account that is not allowed what it has to do', async ({ skip }) => {
    if (server === null) return skip();
    const { url } = server;
    const admin = await actAs(server, server.admin);
    const [plain, staff] = [newLogin(), newLogin()];
    await createUser(admin, plain);
    expect(await examineTool({ ...usual, url, ...plain })).toEqual([
      `failure The account may not create logins: tick "Staff status" for it in /admin, or use another account ${mend}`,
    ]);
    await server.makeStaff(staff);
    // An annotator cannot add members either.
    await addRow(admin, await makeProject(admin, 'signs'), (await actAs(server, staff)).id);
    const weak =
      'failure The account is neither a superuser nor project_admin of a project, so it cannot add or remove members → Add the account to each project as project_admin, or make it a superuser';
    expect(await examineTool({ ...usual, url, ...staff })).toEqual([...inOrder, weak]);
  });

  it('has nothing against a superuser, but for what doccano does not do', async ({ skip }) => {
    if (server === null) return skip();
    expect(await examineTool({ ...usual, url: server.url, ...server.admin })).toEqual(inOrder);
  });
});

async function loginOf(hired: Hired): Promise<{ username: string; password: string }> {
  const invitation = await hired.invitation();
  if (invitation?.kind !== 'password') throw new Error('the invitation has no password');
  return invitation;
}

/** As the trainer would: at the login page, with the invitation and nothing else. */
async function enter(site: DoccanoServer, hired: Hired): Promise<DoccanoUser> {
  expect(await hired.membership()).toMatchObject({ state: 'active' });
  const { username, password } = await loginOf(hired);
  expect(username).toBe(hired.email);
  return await browseAs(site, { username, password });
}

async function totalOf(adapter: Adapter, project: number, hired: Hired) {
  const { memberId } = await hired.membership();
  const observations = await readUsage(adapter, project);
  const { tasks, labels } = observations.find((one) => one.memberId === memberId) ?? {};
  return { tasks, ...(labels !== undefined && { labels }) };
}
