import { describe, expect, it } from 'vitest';
import type { Adapter, Invitation, Member, UsageObservation } from '../../../src/adapters/adapter.ts';
import { listAll } from '../list-all.ts';
import { type ReadWork, readWork } from '../read-work.ts';
import { actOnTasks, addProject, annotate, projectsOf, regions, tokenOf } from './at-work.ts';
import type { BrowserSession, LabelStudioSite } from './label-studio-client.ts';
import { createLabelStudio, person } from './label-studio-harness.ts';

const { signal } = new AbortController();
const group = '1';
const password = person(0).newPassword ?? '';

/**
 * What is claimed of Label Studio and of the adapter, beyond the suite that all adapters pass. A
 * fake that meets it may stand for the real one.
 */
export function describeLabelStudio(name: string, open: () => Promise<LabelStudioSite>): void {
  describe(`${name}: people`, () => describePeople(open));
  describe(`${name}: what is left after a removal`, () => describeRemovals(open));
  describe(`${name}: work`, () => describeWork(open));
  describe(`${name}: instructions`, () => describeInstructions(open));
  describe(`${name}: the token`, () => describeTokens(open));
}

function describePeople(open: () => Promise<LabelStudioSite>): void {
  it('signs a trainer up who then logs in and sees the project', async () => {
    const site = await open();
    const adapter = createLabelStudio(site, { onboarding: 'sign_up' });
    const { id } = await addProject(site, 'Street signs', 1);
    const added = await adapter.addMember(group, person(101), signal);
    const { email } = person(101);
    const url = `${site.url}/user/login/`;
    expect(added.invitation).toEqual({ kind: 'password', url, username: email });
    const session = await signIn(site, email);
    expect(await projectsOf(session)).toContain(id);
    await adapter.removeAccount?.(group, added, signal);
  });

  it('refuses a password that Label Studio does not like, and says why', async () => {
    const adapter = createLabelStudio(await open(), { onboarding: 'sign_up' });
    const one = { ...person(102), newPassword: 'a1b2' };
    const refused = adapter.addMember(group, one, signal);
    await expect(refused).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringMatching(/^Could not sign the person up: Label Studio refused: .*8/),
    });
    expect(await adapter.findMember(group, one, signal)).toBeNull();
  });

  it('lets a trainer in by the link, and by none that was reset', async () => {
    const site = await open();
    const adapter = createLabelStudio(site);
    const [early, late] = [person(103), person(104)];
    const first = linkOf((await adapter.addMember(group, early, signal)).invitation);
    const session = await site.signUp(first, early.email, password);
    expect(session).not.toBeNull();
    const memberId = `invited:${early.trainerId}`;
    const member = await adapter.findMember(group, { ...early, memberId }, signal);
    expect(member).toMatchObject({ email: early.email });

    await adapter.resetInvitations?.(group, signal);
    expect(await site.signUp(first, late.email, password)).toBeNull();
    const invited = { id: `invited:${late.trainerId}`, email: late.email };
    const renewed = await adapter.renewInvitation?.(group, invited, signal);
    expect(renewed).toMatchObject({ kind: 'link', expiresAt: null });
    expect(await site.signUp(linkOf(renewed), late.email, password)).not.toBeNull();

    // A trainer who is known by the invitation alone is removed by address.
    await adapter.removeAccount?.(group, { id: memberId, email: early.email }, signal);
    await adapter.removeMember(group, invited, signal);
    for (const one of [early, late]) {
      expect(await adapter.findMember(group, one, signal)).toBeNull();
    }
  });
}

function describeRemovals(open: () => Promise<LabelStudioSite>): void {
  it('delete_user: no session, no password, no token, and a new account for who comes back', async () => {
    const site = await open();
    const adapter = createLabelStudio(site, { onboarding: 'sign_up' });
    expect(adapter.capabilities.removal).toEqual({ effect: 'locks_out' });
    const member = await adapter.addMember(group, person(110), signal);
    const session = await signIn(site, person(110).email);
    const token = await tokenOf(session);
    const { body: invite } = await session.call('GET', '/api/invite');
    await adapter.removeAccount?.(group, member, signal);
    await adapter.resetInvitations?.(group, signal);

    expect((await session.call('GET', '/api/projects/')).status).toBe(401);
    expect(await site.signIn(person(110).email, password)).toBeNull();
    expect((await site.callAs(`Token ${token}`, '/api/projects/')).status).toBe(401);
    const { invite_url: link } = invite as { invite_url: string };
    expect(await site.signUp(`${site.url}${link}`, 'again@example.com', password)).toBeNull();

    const back = await adapter.addMember(group, person(110), signal);
    expect(back.id).not.toBe(member.id);
    await adapter.removeAccount?.(group, back, signal);
  });

  it('membership: an open session and the password let them back in, as it is declared', async () => {
    const site = await open();
    const offboarding = 'membership';
    const adapter = createLabelStudio(site, { onboarding: 'sign_up', offboarding });
    expect(adapter.capabilities).toMatchObject({
      removal: { effect: 'membership_only', reason: expect.stringMatching(/password.*session/) },
      readding: 'no',
    });
    const { id } = await addProject(site, 'Street lamps', 1);
    const one = person(111);
    const member = await adapter.addMember(group, one, signal);
    const session = await signIn(site, one.email);
    const token = await tokenOf(session);
    await adapter.removeMember(group, member, signal);
    await adapter.removeMember(group, member, signal);

    expect(await adapter.findMember(group, { ...one, memberId: member.id }, signal)).toBeNull();
    expect(await listAll(adapter, group, signal)).not.toContainEqual(member);
    // The token alone sees nothing, until its owner has been in by another way.
    const byToken = () => site.callAs(`Token ${token}`, '/api/projects/');
    expect(await byToken()).toMatchObject({ status: 200, body: { results: [] } });
    expect(await projectsOf(session)).toContain(id);
    expect(await projectsOf(await signIn(site, one.email))).toContain(id);
    expect(await byToken()).not.toMatchObject({ body: { results: [] } });

    for (const onboarding of ['sign_up', 'invite_link']) {
      const other = createLabelStudio(site, { onboarding, offboarding });
      const again = other.addMember(group, { ...one, memberId: member.id }, signal);
      await expect(again).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('DELETE /api/users/<id>'),
      });
    }
    await createLabelStudio(site).removeAccount?.(group, member, signal);
  });

  it.each(['delete_user', 'membership'])('%s: never takes the owner out', async (offboarding) => {
    const site = await open();
    const adapter = createLabelStudio(site, { offboarding });
    const found = await findOwner(site, adapter);
    await expect(adapter.removeMember(group, found, signal)).rejects.toMatchObject({
      code: 'invalid',
      message: 'Gangway does not remove the owner of the organization or of the token',
    });
    expect(await findOwner(site, adapter)).toEqual(found);
  });
}

function describeWork(open: () => Promise<LabelStudioSite>): void {
  /** A trainer who has logged in, and a project. */
  async function openWork(index: number, title: string, count: number, more: object = {}) {
    const site = await open();
    const adapter = createLabelStudio(site, { onboarding: 'sign_up', ...more });
    const { id: project, tasks } = await addProject(site, title, count);
    const member = await adapter.addMember(group, person(index), signal);
    const session = await signIn(site, person(index).email);
    return { site, adapter, project, tasks, member, session };
  }

  it('tells seconds, tasks and labels, what an edit adds, and what was deleted', async () => {
    const { adapter, project, tasks, member, session } = await openWork(120, 'Street names', 3);
    const [one = 0, two = 0, three = 0] = tasks;
    const edited = await annotate(session, one, { lead_time: 10, result: regions('a', 'a', 'b') });
    const deleted = await annotate(session, two, { lead_time: 4, result: regions('c') });
    const skipped = { was_cancelled: true, lead_time: 3.5, result: [] };
    const left = await annotate(session, three, skipped);

    const first = await read(adapter, project, null);
    expect(first.map(countsOf)).toEqual([
      { itemId: String(edited), taskId: String(one), seconds: 10, tasks: 1, labels: 2 },
      { itemId: String(deleted), taskId: String(two), seconds: 4, tasks: 1, labels: 1 },
      { itemId: String(left), taskId: String(three), seconds: 3.5, tasks: 0, labels: 0 },
    ]);
    expect(new Set(first.map(({ memberId }) => memberId))).toEqual(new Set([member.id]));

    const patch = { lead_time: 25.25, result: regions('a', 'b', 'd') };
    await session.call('PATCH', `/api/annotations/${edited}/`, patch);
    await session.call('DELETE', `/api/annotations/${deleted}/`);
    const second = await read(adapter, project, null);
    expect(second.map(countsOf)).toEqual([
      { itemId: String(edited), taskId: String(one), seconds: 25.25, tasks: 1, labels: 3 },
      countsOf(first[2]),
    ]);
    const [before, after] = [first[0], second[0]];
    expect(Date.parse(instantOf(after))).toBeGreaterThan(Date.parse(instantOf(before)));

    await adapter.removeAccount?.(group, member, signal);
    expect(await read(adapter, project, null)).toEqual([]);
  });

  it('tells of what was changed since, and on many pages', async () => {
    const { adapter, project, tasks, member, session } = await openWork(121, 'House numbers', 230);
    const some = tasks.filter((_, index) => index % 40 === 0);
    for (const task of some) await annotate(session, task, { lead_time: 1, result: [] });
    const all = await read(adapter, project, null);
    expect(all.map((observation) => countsOf(observation)?.taskId)).toEqual(some.map(String));
    expect(await read(adapter, project, new Date().toISOString())).toEqual(all);
    const future = new Date(Date.now() + 3_600_000).toISOString();
    expect(await read(adapter, project, future)).toEqual([]);
    await adapter.removeAccount?.(group, member, signal);
  });

  it('keeps the work of who was removed where the account is kept', async () => {
    const opened = await openWork(122, 'Shop signs', 1, { offboarding: 'membership' });
    const { site, adapter, project, tasks, member, session } = opened;
    expect(adapter.capabilities.usage?.outlivesRemoval).toBe(true);
    await annotate(session, tasks[0] ?? 0, { lead_time: 7, result: [] });
    await adapter.removeMember(group, member, signal);
    expect(await read(adapter, project, null)).toMatchObject([{ memberId: member.id, seconds: 7 }]);
    await createLabelStudio(site).removeAccount?.(group, member, signal);
  });

  it('tells which tasks there are, so that what went with its task is known', async () => {
    const { site, adapter, project, tasks, member, session } = await openWork(123, 'Bus stops', 5);
    const made: number[] = [];
    for (const task of tasks.slice(0, 4))
      made.push(await annotate(session, task, { lead_time: 1, result: regions('a') }));
    const [deleted = 0, emptied = 0, byHand = 0, left = 0] = tasks;
    await actOnTasks(site, 'delete_tasks', project, [deleted]);
    await actOnTasks(site, 'delete_tasks_annotations', project, [emptied]);
    await session.call('DELETE', `/api/annotations/${made[2]}/`);
    const whole = await readAll(adapter, project, null);
    expect(whole.work.map((one) => countsOf(one)?.taskId)).toEqual([String(left)]);
    expect(whole.tasks).toEqual(expect.arrayContaining([emptied, byHand, left].map(String)));
    expect(whole.tasks).not.toContain(String(deleted));
    await site.api('DELETE', `/api/projects/${project}/`);
    await expect(read(adapter, project, null)).rejects.toMatchObject({ code: 'not_found' });
    await adapter.removeAccount?.(group, member, signal);
  });

  it('is an error where there is no such project', async () => {
    const adapter = createLabelStudio(await open());
    const missing = read(adapter, 999_999, null);
    await expect(missing).rejects.toMatchObject({ code: 'not_found', status: 404 });
    const odd = read(adapter, '../users', null);
    await expect(odd).rejects.toMatchObject({ code: 'invalid' });
  });
}

function describeInstructions(open: () => Promise<LabelStudioSite>): void {
  async function openProject() {
    const site = await open();
    const adapter = createLabelStudio(site);
    const { id } = await addProject(site, 'Road works', 1);
    const path = `/api/projects/${id}/`;
    const write = async (html: unknown, authorization = `Token ${site.owner.legacyToken}`) =>
      (await site.callAs(authorization, path, 'PATCH', { expert_instruction: html })).status;
    return { site, adapter, path, project: String(id), write };
  }

  it('has none at first, and shows all members what was written', async () => {
    const { site, adapter, path, project } = await openProject();
    const html = '<p>Every &lt;b&gt; &amp;amp; "car"&nbsp;</p>\n\n<pre><code>a\n  b</code></pre><hr><br> ';
    expect(await adapter.readGuidelines?.(project, signal)).toBe('');
    const signing = createLabelStudio(site, { onboarding: 'sign_up' });
    const member = await signing.addMember(group, person(140), signal);
    const session = await signIn(site, person(140).email);
    await adapter.writeGuidelines?.(project, html, signal);
    expect(await session.call('GET', path)).toMatchObject({
      body: { expert_instruction: html, show_instruction: true },
    });
    // Every member may change them.
    const theirs = createLabelStudio(site, { token: await tokenOf(session) });
    await theirs.writeGuidelines?.(project, '', signal);
    expect(await adapter.readGuidelines?.(project, signal)).toBe('');
    await signing.removeAccount?.(group, member, signal);
  });

  it('are hardly cleaned: what runs has to be kept out before', async () => {
    const { adapter, project, write } = await openProject();
    const kept = '<script>alert(1)</script><iframe src="https://evil.example"></iframe>';
    expect(await write(`${kept}<a href="javascript:alert(1)" onclick="alert(1)">a\r\nb</a><!-- c -->`)).toBe(200);
    expect(await adapter.readGuidelines?.(project, signal)).toBe(`${kept}<a>a\nb</a>`);
  });

  it('are refused where they are no text, and of a project that is not there', async () => {
    const { adapter, project, write } = await openProject();
    expect([await write(null), await write(7), await write('a\0b'), await write('a\ud800b')]).toEqual([
      500, 500, 400, 400,
    ]);
    expect(await adapter.readGuidelines?.(project, signal)).toBe('');
    const missing = adapter.writeGuidelines?.('999999', 'x', signal);
    await expect(missing).rejects.toMatchObject({ code: 'not_found', status: 404 });
  });
}

function describeTokens(open: () => Promise<LabelStudioSite>): void {
  it('may be of either kind, and finds nothing wrong', async () => {
    const site = await open();
    const token = await site.personalToken();
    for (const adapter of [createLabelStudio(site, { token }), createLabelStudio(site)]) {
      const findings = await adapter.check(signal);
      expect(findings.filter(({ isFailure }) => isFailure)).toEqual([]);
    }
    const forged = createLabelStudio(site, { token: token.replace(/[^.]+$/, 'forged') });
    await expect(forged.check(signal)).rejects.toMatchObject({
      code: 'unauthenticated',
      message: expect.stringContaining('the personal access token is wrong, revoked'),
    });
    await expect(createLabelStudio(site, { token: 'f'.repeat(40) }).check(signal)).rejects.toThrow(
      'a legacy token must be switched on under Organization > Access Token Settings',
    );
  });

  it('that can add and not remove is named', async () => {
    const site = await open();
    const owners = createLabelStudio(site, { onboarding: 'sign_up' });
    const [member, other] = [
      await owners.addMember(group, person(130), signal),
      await owners.addMember(group, person(131), signal),
    ];
    const token = await tokenOf(await signIn(site, person(130).email));
    const findings = await createLabelStudio(site, { token }).check(signal);
    expect(findings.filter(({ isFailure }) => isFailure)).toEqual([
      expect.objectContaining({ says: expect.stringContaining('but not remove them') }),
    ]);
    // Older ones leave it to every member to delete users, which the check says.
    const isOld = site.version < '1.23';
    expect(findings.some(({ says }) => says.includes('every member can'))).toBe(isOld);
    for (const offboarding of isOld ? ['membership'] : ['membership', 'delete_user']) {
      const weak = createLabelStudio(site, { offboarding, token });
      const remove = weak.removeAccount ?? weak.removeMember;
      await expect(remove(group, other, signal)).rejects.toMatchObject({ status: 403 });
    }
    await owners.removeAccount?.(group, member, signal);
    await owners.removeAccount?.(group, other, signal);
  });
}

async function signIn(site: LabelStudioSite, email: string): Promise<BrowserSession> {
  const session = await site.signIn(email, password);
  if (session === null) throw new Error('the login is refused');
  return session;
}

function linkOf(invitation: Invitation | undefined): string {
  if (invitation?.kind === 'link') return invitation.url;
  throw new Error('no link');
}

async function findOwner({ owner }: LabelStudioSite, adapter: Adapter): Promise<Member> {
  const member = await adapter.findMember(group, { ...person(0), email: owner.email }, signal);
  if (member === null) throw new Error('no owner');
  return member;
}

async function read(
  adapter: Adapter,
  project: number | string,
  changedSince: string | null,
): Promise<UsageObservation[]> {
  return (await readAll(adapter, project, changedSince)).work;
}

async function readAll(adapter: Adapter, project: number | string, changedSince: string | null): Promise<ReadWork> {
  const firstDay = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  const request = { timeZone: 'UTC', firstDay, changedSince };
  return await readWork(adapter, String(project), request, signal);
}

function countsOf(observation: UsageObservation | undefined) {
  if (observation?.of !== 'item') return undefined;
  const { itemId, taskId, seconds, tasks, labels } = observation;
  return { itemId, taskId, seconds, tasks, labels };
}

function instantOf(observation: UsageObservation | undefined): string {
  return observation?.of === 'item' ? observation.changedAt : '';
}
