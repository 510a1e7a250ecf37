import { afterAll, describe, expect, it } from 'vitest';
import type { Adapter } from '../../src/adapters/adapter.ts';
import { type Journey, untilWorkIsRead } from '../support/journey.ts';
import { addProject, annotate, projectsOf, regions, tokenOf } from '../support/label-studio/at-work.ts';
import type { BrowserSession } from '../support/label-studio/label-studio-client.ts';
import { createLabelStudio, person } from '../support/label-studio/label-studio-harness.ts';
import { listAll } from '../support/list-all.ts';
import { until } from '../support/until.ts';
import { examineTool, openPages } from './doctor.ts';
import { type LabelStudioServer, openLabelStudio } from './label-studio-server.ts';
import { type Hired, openLoop, readUsage } from './loop.ts';
import { freePort } from './server-process.ts';

/** From hire to end, in a Label Studio that really runs: what is stored, and what people can do. */

const server = await openLabelStudio();
afterAll(() => server?.stop());

const hourMs = 3_600_000;
/** While a trainer waits with the link, removals are gathered for this long before it is reset. */
const resetMs = 15 * 60_000;
const ownPassword = 'Lantern-44-heron';
const left = 'Label Studio (community) lets a removed member back in with their password, or a session that is open';

describe.skipIf(server === null)(`the whole loop with Label Studio ${server?.version}`, () => {
  const site = server as LabelStudioServer;

  /** Gangway with a token of the kind that is advised, and a project for its customer. */
  async function open(settings: Record<string, string>) {
    const adapter = createLabelStudio(site, { token: await site.personalToken(), ...settings });
    const project = await addProject(site, 'Street signs', 4);
    return { ...(await openLoop(adapter, project.id)), adapter, project };
  }

  /** As the trainer would: with the invitation, and nothing else. */
  async function enter(hired: Hired): Promise<BrowserSession> {
    const invitation = await hired.invitation();
    if (invitation === null) throw new Error('there is no invitation');
    const session =
      invitation.kind === 'password'
        ? await site.signIn(invitation.username, invitation.password)
        : await site.signUp(invitation.url, hired.email, ownPassword);
    if (session === null) throw new Error('the form refuses them');
    return session;
  }

  it('sign_up, delete_user: trainers log in with the password that was given, and are locked out', async () => {
    const { hire, end, adapter, project } = await open({ onboarding: 'sign_up', offboarding: 'delete_user' });
    const [ada, ben] = await hire('ada', 'ben');
    expect(await ada.invitation()).toMatchObject({ kind: 'password', username: ada.email });
    expect((await ben.membership()).state).toBe('active');
    const [adas, bens] = [await enter(ada), await enter(ben)];
    expect(await projectsOf(adas)).toContain(project.id);

    const [one = 0, two = 0, three = 0] = project.tasks;
    const edited = await annotate(adas, one, { lead_time: 30, result: regions('a', 'b') });
    const deleted = await annotate(adas, two, { lead_time: 12.5, result: regions('a') });
    await annotate(bens, two, { lead_time: 8, result: regions('a', 'b', 'c') });
    const worked = async (hired: Hired) => await tallyOf(adapter, project.id, hired);
    expect(await worked(ada)).toEqual({ seconds: 42.5, tasks: 2, labels: 3 });
    expect(await worked(ben)).toEqual({ seconds: 8, tasks: 1, labels: 3 });
    const edit = { lead_time: 41, result: regions('a', 'b', 'c') };
    await adas.call('PATCH', `/api/annotations/${edited}/`, edit);
    expect(await worked(ada)).toEqual({ seconds: 53.5, tasks: 2, labels: 4 });
    await adas.call('DELETE', `/api/annotations/${deleted}/`);
    expect(await worked(ada)).toEqual({ seconds: 41, tasks: 1, labels: 3 });

    const token = await tokenOf(adas);
    const invitation = await ada.invitation();
    const password = invitation?.kind === 'password' ? invitation.password : '';
    const link = await inviteLinkOf(adas);
    await end(ada);
    expect(await ada.receipts()).toEqual([
      ['add added', null],
      ['remove removed', null],
    ]);
    expect(await ada.invitation()).toBeNull();
    expect((await adas.call('GET', '/api/projects/')).status).toBe(401);
    expect(await site.signIn(ada.email, password)).toBeNull();
    expect((await site.callAs(`Token ${token}`, '/api/projects/')).status).toBe(401);
    expect(await site.signUp(link, `back.${ada.email}`, ownPassword)).toBeNull();
    expect(await worked(ada)).toEqual({});

    await annotate(bens, three, { lead_time: 2, result: regions('a') });
    expect(await worked(ben)).toEqual({ seconds: 10, tasks: 2, labels: 4 });
    await end(ben);
  });

  it('invite_link, membership: they choose a password, and what is left of it is what is said', async () => {
    const { journey, hire, end, adapter, project } = await open({
      onboarding: 'invite_link',
      offboarding: 'membership',
    });
    const [ada, ben, cleo] = await hire('ada', 'ben', 'cleo');
    const first = await linkOf(ada);
    expect([await linkOf(ben), await linkOf(cleo)]).toEqual([first, first]);
    const [adas, bens] = [await enter(ada), await enter(ben)];
    expect(await projectsOf(adas)).toContain(project.id);
    await untilNoticed(journey, ada, ben);
    expect([await ada.membership(), await cleo.membership()]).toMatchObject([
      { state: 'active', memberId: expect.stringMatching(/^\d+$/) },
      { state: 'invited', memberId: `invited:${cleo.trainerId}` },
    ]);
    expect([await ada.invitation(), await linkOf(cleo)]).toEqual([null, first]);

    const [one = 0, two = 0] = project.tasks;
    await annotate(adas, one, { lead_time: 30, result: regions('a', 'b') });
    await annotate(bens, one, { lead_time: 8, result: regions('a') });
    const token = await tokenOf(adas);
    await end(ada);
    const receipts = await ada.receipts();
    // A look that was under way while an hour passed is made again.
    expect(receipts.filter(([says], index) => says !== receipts[index - 1]?.[0])).toEqual([
      ['add invited', null],
      ['add already_member', null],
      ['remove removed', `They may still get in: ${left}`],
    ]);
    // The token alone sees nothing; the session and the password do, as it is said.
    const byToken = await site.callAs(`Token ${token}`, '/api/projects/');
    expect(byToken).toMatchObject({ status: 200, body: { results: [] } });
    expect(await projectsOf(adas)).toContain(project.id);
    const again = await site.signIn(ada.email, ownPassword);
    expect(again && (await projectsOf(again))).toContain(project.id);
    // And Label Studio does not list a member who is back like that: no reading can find them.
    const { memberId } = await ada.membership();
    const listed = await listAll(adapter, '1', AbortSignal.timeout(60_000));
    expect(listed.map(({ id }) => id)).toEqual(['1', (await ben.membership()).memberId]);
    expect(listed.map(({ id }) => id)).not.toContain(memberId);
    expect(await tallyOf(adapter, project.id, ada)).toEqual({ seconds: 30, tasks: 1, labels: 2 });

    await journey.pass(resetMs);
    expect(await site.signUp(first, cleo.email, ownPassword)).toBeNull();
    await journey.quiet();
    const second = await linkOf(cleo);
    expect(second).not.toBe(first);
    expect(await projectsOf(await enter(cleo))).toContain(project.id);
    await annotate(bens, two, { lead_time: 2, result: regions('a') });
    expect(await tallyOf(adapter, project.id, ben)).toEqual({ seconds: 10, tasks: 2, labels: 2 });
    for (const hired of [ben, cleo]) await end(hired);
  });

  it('invite_link, delete_user: a trainer who came a moment ago is out, and one who waits comes later', async () => {
    const { journey, hire, end, project } = await open({ onboarding: 'invite_link', offboarding: 'delete_user' });
    const [ada, ben] = await hire('ada', 'ben');
    const first = await linkOf(ada);
    const adas = await enter(ada);
    // Gangway does not know yet that she came.
    expect(await ada.membership()).toMatchObject({ state: 'invited' });
    await end(ada);
    // The list of the last look may be from before she came, or from after that.
    const unseen = 'The account was first seen after the last reading of work. Its work may not be reported';
    expect(await ada.receipts()).toEqual([
      ['add invited', null],
      ['remove removed', expect.toBeOneOf([null, unseen])],
    ]);
    expect((await adas.call('GET', '/api/projects/')).status).toBe(401);
    expect(await site.signIn(ada.email, ownPassword)).toBeNull();
    await journey.pass(resetMs);
    for (const { email } of [ada, ben]) {
      expect(await site.signUp(first, email, ownPassword)).toBeNull();
    }
    await journey.quiet();
    expect(await linkOf(ben)).not.toBe(first);
    const bens = await enter(ben);
    expect(await projectsOf(bens)).toContain(project.id);
    await untilNoticed(journey, ben);
    await end(ben);
    expect((await bens.call('GET', '/api/projects/')).status).toBe(401);
  });

  it('invite_link: the work of a trainer whose sign-up was not noticed yet is reported', async () => {
    const { journey, hire, end, project } = await open({ onboarding: 'invite_link', offboarding: 'delete_user' });
    const [ada] = await hire('ada');
    await untilWorkIsRead(journey);
    const adas = await enter(ada);
    const [one = 0, two = 0] = project.tasks;
    await annotate(adas, one, { lead_time: 60, result: regions('a', 'b', 'c') });
    await annotate(adas, two, { lead_time: 47, result: regions('a', 'b') });
    journey.clock.advance(107_000);
    expect(await ada.membership()).toMatchObject({ state: 'invited' });
    await end(ada);
    expect(await ada.receipts()).toEqual([
      ['add invited', null],
      ['remove removed', null],
    ]);
    expect((await adas.call('GET', '/api/projects/')).status).toBe(401);
    const consumed = () =>
      journey.sandbox.snapshot().contracts.find(({ id }) => id === ada.contractId)?.budget.consumed;
    const wanted = { seconds: 107, tasks: 2, labels: 5 };
    const reported = await until('it is reported', consumed, (seen) => seen?.seconds === 107);
    expect(reported).toMatchObject(wanted);
  });

  it('invite_link: three ends void the links of those who wait once, and one of them too late', async () => {
    const { journey, hire, end, project } = await open({ onboarding: 'invite_link', offboarding: 'delete_user' });
    const names = Array.from({ length: 12 }, (_, index) => `waiting-${index}`);
    const [ada, ben, cleo, ...waiting] = await hire('ada', 'ben', 'cleo', ...names);
    const first = await linkOf(ada);
    for (const [index, hired] of [ada, ben, cleo].entries()) {
      if (index > 0) journey.clock.advance(300_000);
      await end(hired);
    }
    expect(await Promise.all(waiting.map(linkOf))).toEqual(waiting.map(() => first));
    // The link that she was given is good until then.
    const adas = await enter({ ...ada, invitation: async () => ({ kind: 'link', url: first }) });
    expect(await projectsOf(adas)).toContain(project.id);
    await journey.pass(300_000);
    const seconds = await Promise.all(waiting.map(linkOf));
    expect(new Set(seconds).size).toBe(1);
    expect(seconds[0]).not.toBe(first);
    const invited = await Promise.all(waiting.map(async (one) => (await one.receipts()).length));
    expect(invited).toEqual(waiting.map(() => 2));
    expect((await adas.call('GET', '/api/projects/')).status).toBe(401);
    expect((await ada.receipts()).at(-1)?.[0]).toBe('remove removed');
    await journey.pass(resetMs);
    for (const hired of waiting) await end(hired);
  });
});

describe.skipIf(server === null)(`gangway doctor with Label Studio ${server?.version}`, () => {
  const site = server as LabelStudioServer;
  const root = '"url" must be the root of Label Studio, such as https://labels.example.com';
  const mend = '→ Fix tools.studio in the configuration, or the tool';
  const usual = { adapter: 'label-studio', offboarding: 'delete_user' };

  /** What is said of an old version is not what is looked at here. */
  const examine = async (settings: { token: string; url?: string; offboarding?: string }) =>
    (await examineTool({ ...usual, url: site.url, ...settings })).filter(
      (line) => !line.startsWith('warning In Label Studio'),
    );

  it('has nothing against what is set up as the README says, but for what it does not do', async () => {
    const token = await site.personalToken();
    expect(await examine({ token })).toEqual(['ok Reachable, settings valid']);
    expect(await examine({ token, offboarding: 'membership' })).toEqual([
      'ok Reachable, settings valid',
      `warning A removed member may still get in: ${left} → Read in the README of the adapter what locks people out`,
      'warning A removed member cannot be added again → Expect a plan for every removal on weak evidence: gangway plans list',
    ]);
  });

  it.each([
    [
      ...(['no server listens', async () => `http://127.0.0.1:${await freePort()}`] as const),
      'Could not read its version: ECONNREFUSED; does it run, and is "url" right?',
    ],
    [
      ...(['it is below the root', async () => `${site.url}/projects`] as const),
      `Could not ask whose token it is: answered 404; ${root}`,
    ],
    [
      ...(['something else answers with pages', openPages] as const),
      `Could not read its version: the answer is not JSON; ${root}`,
    ],
  ])('says what is wrong with the address where %s', async (_where, toUrl, says) => {
    const [url, token] = [await toUrl(), site.owner.legacyToken];
    expect(await examine({ url, token })).toEqual([`failure ${says} ${mend}`]);
  });

  it('says what is wrong with the token', async () => {
    const forged = (await site.personalToken()).replace(/[^.]+$/, 'forged');
    expect(await examine({ token: forged })).toEqual([
      `failure Could not get access with the personal access token: answered 401: Token is invalid; the personal access token is wrong, revoked, or switched off under Organization > Access Token Settings ${mend}`,
    ]);
    expect(await examine({ token: 'f'.repeat(40) })).toEqual([
      `failure Could not ask whose token it is: answered 401: Invalid token; a legacy token must be switched on under Organization > Access Token Settings; better make a personal access token under Account & Settings ${mend}`,
    ]);
  });

  it('names a token that can add people and not remove them', async () => {
    const adapter = createLabelStudio(site, { onboarding: 'sign_up' });
    const member = await adapter.addMember('1', person(201), AbortSignal.timeout(60_000));
    const session = await site.signIn(person(201).email, person(201).newPassword ?? '');
    if (session === null) throw new Error('the form refuses them');
    expect(await examine({ token: await tokenOf(session) })).toEqual([
      'ok Reachable, settings valid',
      'failure The token can add people but not remove them: its user is not the owner of the organization → Make a personal access token as the user who created the organization, and use that',
    ]);
    await adapter.removeAccount?.('1', member, AbortSignal.timeout(60_000));
  });
});

/** A list of a few seconds ago may do for a look, and those seconds pass by no clock of the journey. */
async function untilNoticed(journey: Journey, ...people: Hired[]): Promise<void> {
  const look = async () => {
    await journey.pass(hourMs);
    return await Promise.all(people.map((one) => one.membership()));
  };
  await until('who signed up is noticed', look, (all) => all.every(({ state }) => state === 'active'));
}

async function linkOf(hired: Hired): Promise<string> {
  const invitation = await hired.invitation();
  if (invitation?.kind !== 'link') throw new Error('no link');
  return invitation.url;
}

/** What every member can read. */
async function inviteLinkOf(session: BrowserSession): Promise<string> {
  const { body } = await session.call('GET', '/api/invite');
  const { invite_url: path } = body as { invite_url: string };
  return new URL(path, server?.url).href;
}

/** Of pieces of work, in which a task counts once; empty where none is listed. */
async function tallyOf(adapter: Adapter, project: number, hired: Hired) {
  const { memberId } = await hired.membership();
  const theirs = (await readUsage(adapter, project)).filter((one) => one.memberId === memberId);
  if (theirs.length === 0) return {};
  const sum = (count: 'seconds' | 'labels') =>
    theirs.reduce((total, observation) => total + (observation[count] ?? 0), 0);
  const tasks = new Set(theirs.map((one) => (one.of === 'item' ? one.taskId : '')));
  return { seconds: sum('seconds'), tasks: tasks.size, labels: sum('labels') };
}
