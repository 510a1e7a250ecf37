import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addProject, annotate, projectsOf, regions } from '../support/label-studio/at-work.ts';
import type { BrowserSession } from '../support/label-studio/label-studio-client.ts';
import { createLabelStudio } from '../support/label-studio/label-studio-harness.ts';
import { until } from '../support/until.ts';
import { type LabelStudioServer, openLabelStudio } from './label-studio-server.ts';
import { type Hired, openLoop, readWork, wantReading } from './loop.ts';
import { openToolFront, type ToolFront } from './tool-front.ts';

/** Whose an id is, and who can still get in, in a Label Studio that really runs. */

let site: LabelStudioServer | null = null;
let front: ToolFront;

beforeAll(async () => {
  front = await openToolFront();
  site = await openLabelStudio();
  if (site !== null) front.leadTo(site.url);
});
afterAll(async () => {
  await site?.stop();
  await front.stop();
});

const employee = { email: 'erin@lab.example', password: 'Lantern-44-heron' };
const settings = { onboarding: 'sign_up', offboarding: 'delete_user' };

async function open(server: LabelStudioServer) {
  const adapter = createLabelStudio({ url: front.url, owner: server.owner }, settings);
  const project = await addProject(server, 'Street signs', 6);
  return { ...(await openLoop(adapter, project.id)), project };
}

/** As the trainer would: with the invitation, and nothing else. */
async function enter(server: LabelStudioServer, hired: Hired): Promise<BrowserSession> {
  const invitation = await hired.invitation();
  if (invitation?.kind !== 'password') throw new Error('the invitation has no password');
  const session = await server.signIn(invitation.username, invitation.password);
  if (session === null) throw new Error('the form refuses them');
  return session;
}

describe('a Label Studio that was restored from an older backup', () => {
  it('keeps the employee who got the id of a trainer, and the trainer is in again', async ({ skip }) => {
    if (site === null) return skip();
    const { hire, end, journey, project } = await open(site);
    await site.backUp();
    const [ada] = await hire('ada');
    const before = await ada.membership();

    site = await site.restore();
    front.leadTo(site.url);
    const { invite_url: link } = await site.api<{ invite_url: string }>('GET', '/api/invite');
    const { email, password } = employee;
    const erins = await site.signUp(new URL(link, site.url).href, email, password);
    if (erins === null) throw new Error('the form refuses the employee');
    const { body } = await erins.call('GET', '/api/current-user/whoami');
    expect(body).toMatchObject({ id: Number(before.memberId), email });
    const [one = 0, two = 0] = project.tasks;
    await annotate(erins, one, { lead_time: 30, result: regions('a', 'b') });

    await wantReading(journey);
    const isInAgain = ({ state, memberId }: Awaited<ReturnType<Hired['membership']>>) =>
      state === 'active' && memberId !== null && memberId !== before.memberId;
    await until('the trainer is in again', () => ada.membership(), isInAgain);
    await journey.quiet();
    const adas = await enter(site, ada);
    expect(await projectsOf(adas)).toContain(project.id);
    await annotate(adas, two, { lead_time: 8, result: regions('a') });

    const adasWork = { trainerId: ada.trainerId, seconds: 8, tasks: 1, labels: 1 };
    expect(await readWork(journey)).toEqual([adasWork]);
    await end(ada);
    expect(await ada.membership()).toMatchObject({ state: 'removed' });
    expect(await readWork(journey)).toEqual([adasWork]);
    expect((await adas.call('GET', '/api/projects/')).status).toBe(401);
    expect(await projectsOf(erins)).toContain(project.id);
    const again = await site.signIn(email, password);
    expect(again && (await projectsOf(again))).toContain(project.id);
    const work = await site.api<unknown[]>('GET', `/api/tasks/${one}/annotations/`);
    expect(work).toMatchObject([{ completed_by: Number(before.memberId) }]);
  });

  it('keeps the employee also where the contract ends before the first look', async ({ skip }) => {
    if (site === null) return skip();
    const { hire, end, journey, project } = await open(site);
    await site.backUp();
    const [ben] = await hire('ben');
    const { memberId } = await ben.membership();

    site = await site.restore();
    front.leadTo(site.url);
    const { invite_url: link } = await site.api<{ invite_url: string }>('GET', '/api/invite');
    const email = 'frida@lab.example';
    const session = await site.signUp(new URL(link, site.url).href, email, employee.password);
    if (session === null) throw new Error('the form refuses the employee');
    const [one = 0] = project.tasks;
    await annotate(session, one, { lead_time: 30, result: regions('a', 'b') });
    await end(ben);
    // One look is not enough.
    await journey.pass(60_000);
    await journey.quiet();
    expect(await ben.membership()).toMatchObject({ state: 'removed' });
    expect(await projectsOf(session)).toContain(project.id);
    const { body } = await session.call('GET', '/api/current-user/whoami');
    expect(body).toMatchObject({ id: Number(memberId), email });
    expect(await readWork(journey)).toEqual([]);
  });
});

describe('a membership that was ended by hand in Label Studio', () => {
  it('leaves no access once the contract has ended', async ({ skip }) => {
    if (site === null) return skip();
    const { hire, end, project } = await open(site);
    const [cleo] = await hire('cleo');
    const { memberId } = await cleo.membership();
    const invitation = await cleo.invitation();
    const password = invitation?.kind === 'password' ? invitation.password : '';
    const cleos = await enter(site, cleo);
    await site.api('DELETE', `/api/organizations/1/memberships/${memberId}/`);
    expect(await projectsOf(cleos)).toContain(project.id);
    expect((await cleos.call('GET', '/api/invite')).status).toBe(200);

    await end(cleo);
    expect(await cleo.receipts()).toEqual([
      ['add added', null],
      ['remove removed', null],
    ]);
    expect((await cleos.call('GET', '/api/projects/')).status).toBe(401);
    expect((await cleos.call('GET', '/api/invite')).status).toBe(401);
    expect(await site.signIn(cleo.email, password)).toBeNull();
  });
});
