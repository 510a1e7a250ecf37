import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Draft, Proposal, ProposalInFull } from '../../src/operations/hire.ts';
import type { Hire } from '../../src/operations/hire-list.ts';
import type { Milestone } from '../../src/operations/milestones.ts';
import { type AskGiven, createApiClient } from '../support/api-client.ts';
import { sqlite } from '../support/databases.ts';
import { openEmployerJourney, readEveryMs } from '../support/employer-journey.ts';
import { accountIds, addProject, annotate, projectsOf, regions } from '../support/label-studio/at-work.ts';
import type { BrowserSession } from '../support/label-studio/label-studio-client.ts';
import { until } from '../support/until.ts';
import { type LabelStudioServer, openLabelStudio } from './label-studio-server.ts';
import { createMovedClock } from './moved-clock/moved-clock.ts';

/**
 * Hires with an account of one's own, by the API alone, from a text to the end of the contract: who gets into a Label
 * Studio that really runs, and when. It goes by the clock of the bridge, as work belongs to the contract of its instant.
 */

const folder = mkdtempSync(path.join(tmpdir(), 'gangway-hire-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const openStudioClock = () => createMovedClock(folder, new Date(Date.now() + 1000).toISOString());
const server = await openLabelStudio({ env: openStudioClock().env });
afterAll(() => server?.stop());

const hourMs = 3_600_000;
const ownPassword = 'Lantern-44-heron';

const description = '# Find street signs\n\nYou mark the signs in photographs of streets, some of them at night.';
const interview = {
  score: 87,
  summary: 'Has marked signs for two years',
  messages: [
    { role: 'interviewer' as const, content: 'What do you do with a sign that is half hidden?' },
    { role: 'candidate' as const, content: 'I mark what is seen, and choose "occluded".' },
  ],
};

describe.skipIf(server === null)(`hires with an account of one's own, into Label Studio ${server?.version}`, () => {
  const site = server as LabelStudioServer;

  async function open(onboarding: 'sign_up' | 'invite_link') {
    // Each journey begins at the real time.
    const studioClock = openStudioClock();
    const [others, scenes] = [await addProject(site, 'Others', 1), await addProject(site, 'Street scenes', 4)];
    const token = await site.personalToken();
    const settings = { adapter: 'label-studio', url: site.url, token, onboarding, offboarding: 'delete_user' };
    const projects = [String(others.id), String(others.id)] as const;
    const journey = await openEmployerJourney(sqlite, { tool: { settings, projects } });
    const api = createApiClient(journey.consoleUrl);
    // Tools outlive a test, and so do accounts.
    const run = randomBytes(4).toString('hex');
    // The account is read once before.
    await journey.pass(readEveryMs);
    return {
      ...journey,
      scenes,
      toTrainer: (name: string) => ({
        opentrainUserId: `usr-${name}-${run}`,
        workEmail: `${name}.${run}@opentrain.work`,
      }),
      ask: async <T>(id: string, given?: AskGiven) => (await api.ask(id, given)) as T,
      /** The same for the account. */
      own: async <T>(id: string, params: Record<string, string> = {}, body?: object) =>
        (await api.ask(id, { params: { install: 'own', ...params }, ...(body && { body }) })) as T,
      /** Label Studio catches up with the bridge. */
      meet: () => studioClock.moveTo(journey.clock.now().toISOString()),
    };
  }

  type World = Awaited<ReturnType<typeof open>>;

  /** From the text to a published job for the project. */
  async function post({ own, ask, scenes }: World): Promise<string> {
    const project = String(scenes.id);
    const drafted = await own<Draft>('hireDraft', {}, { text: description, project });
    const job = drafted.jobId ?? '';
    expect(drafted).toMatchObject({ title: 'Find street signs', project, publishedAt: null });
    expect(drafted.missing.map(({ field }) => field)).toEqual(['experienceLevel', 'labelTypes', 'paymentType']);
    expect(await own('hireDraft', {}, { text: description, project })).toEqual(drafted);

    const how = { set: ['experienceLevel=EXPERT', 'labelTypes=Boxes, Classes', 'paymentType=PAY_PER_HOUR'] };
    const { missing } = await own<Draft>('hireAnswer', { job }, how);
    expect(missing).toMatchObject([{ field: 'pricePerHour', keys: ['pricePerHour'] }]);
    expect(await own('hireAnswer', { job }, { set: ['pricePerHour=24'] })).toMatchObject({ missing: [] });
    const linked = async () => {
      const { links } = await ask<{ links: { project: string }[] }>('linksList');
      return links.filter((link) => link.project === project);
    };
    expect(await linked()).toEqual([]);
    for (const _ of [1, 2]) {
      expect(await own('hirePublish', { job })).toMatchObject({ publishedAt: expect.any(String) as string });
      expect(await linked()).toMatchObject([{ install: 'own', jobId: job, leads: 'here', groupId: '1' }]);
    }
    return job;
  }

  /** Requests what a person must confirm. Asking again changes nothing, until they have decided. */
  async function request({ own, pass, sandbox }: World, id: string, params: Record<string, string>) {
    const body = id === 'hireEnd' ? { yes: true } : {};
    const asked = await own<{ approvalId: string }>(id, params, body);
    const url = expect.stringContaining(asked.approvalId) as string;
    expect(asked).toMatchObject({ status: 'pending', url });
    await pass(readEveryMs);
    expect(await own(id, params, body)).toEqual(asked);
    return async (decision: 'confirmed' | 'declined') => {
      sandbox.resolveApproval(asked.approvalId, decision);
      await pass(readEveryMs);
    };
  }

  /** Resolves when the list of hires says this of the one by a proposal. */
  function untilHire({ ask }: World, proposal: string, state: Hire['state'], waitsFor: string | null) {
    const look = async () => {
      const { items } = await ask<{ items: Hire[] }>('hireList');
      return items.find(({ proposalId }) => proposalId === proposal) as Hire;
    };
    const what = `the hire is ${state} and waits for ${waitsFor}`;
    return until(what, look, (hire) => hire.state === state && hire.waitsFor === waitsFor);
  }

  /** As the trainer would, with what the operator was given for them. */
  async function enter({ ask }: World, { opentrainUserId, workEmail }: ReturnType<World['toTrainer']>) {
    const { items } = await ask<{ items: { id: number; trainerId: string }[] }>('membersList');
    const membership = items.find(({ trainerId }) => trainerId === opentrainUserId)?.id ?? 0;
    const { invitation } = await ask<{ invitation: Invitation }>('membersInvitation', { params: { membership } });
    const { kind, url, username = workEmail, password = ownPassword } = invitation;
    const isLink = kind === 'link';
    const session = isLink ? await site.signUp(url, username, password) : await site.signIn(username, password);
    if (session === null) throw new Error('the form refuses them');
    return { session, password };
  }

  /** @returns the day on which Label Studio has it */
  async function work(session: BrowserSession, task: number | undefined, body: object): Promise<string> {
    const id = await annotate(session, task ?? 0, body);
    const { body: made } = await session.call('GET', `/api/annotations/${id}/`);
    return (made as { created_at: string }).created_at.slice(0, 10);
  }

  /** The work on a contract as `seconds/tasks/labels`. Nothing of it was sent, and nothing is held. */
  async function workOn({ ask }: World, contract: string): Promise<string> {
    const { days, held } = await ask<Usage>('usageShow', { params: { contract } });
    expect([days.filter(({ sent }) => sent !== null), held]).toEqual([[], []]);
    const sum = (count: keyof Counts) => days.reduce((total, { due }) => total + (due?.[count] ?? 0), 0);
    return `${sum('seconds')}/${sum('tasks')}/${sum('labels')}`;
  }

  function milestonesOf({ own }: World, contract: string) {
    const statusOf = async (milestone: string) => {
      const { items } = await own<{ items: Milestone[] }>('milestonesList', { contract });
      return items.find(({ id }) => id === milestone)?.status;
    };
    const create = (name: string) => own<Milestone>('milestonesCreate', { contract }, { name, volume: 2 });
    return { statusOf, create };
  }

  it.each(['sign_up', 'invite_link'] as const)(
    'lead from a text to work and its payment, each step once a person has confirmed it: %s',
    async (onboarding) => {
      const world = await open(onboarding);
      const { sandbox, own, pass, live, meet, scenes, toTrainer } = world;
      const [ada, ben] = [toTrainer('ada'), toTrainer('ben')];
      const before = await accountIds(site);
      const newcomers = async () => (await accountIds(site)).filter((id) => !before.includes(id));

      const job = await post(world);
      const propose = (wanted: object) => sandbox.propose({ jobId: job, rateUsd: 24, ...wanted }).proposalId;
      const bens = propose({ trainer: ben });
      const proposal = propose({ trainer: ada, coverLetter: 'I know the signs of Lisbon.', interview });
      const { items } = await own<{ items: Proposal[] }>('hireProposals', { job });
      expect(items.map(({ id, score }) => [id, score])).toEqual([
        [proposal, 87],
        [bens, null],
      ]);
      const shown = await own<ProposalInFull>('hireProposal', { proposal });
      expect(shown).toMatchObject({ coverLetter: 'I know the signs of Lisbon.', summary: interview.summary });
      expect(shown.messages.map(({ role, content }) => ({ role, content }))).toEqual(interview.messages);

      const decideOnBen = await request(world, 'hireConfirm', { proposal: bens });
      const decideOnAda = await request(world, 'hireConfirm', { proposal });
      const waiting = await untilHire(world, proposal, 'waiting', 'a person to confirm it');
      expect(waiting).toMatchObject({ url: expect.stringContaining('/approvals/') as string, contractId: null });
      await decideOnBen('declined');
      await untilHire(world, bens, 'declined', null);
      expect(await newcomers()).toEqual([]);
      await decideOnAda('confirmed');
      const [state, next] = onboarding === 'sign_up' ? (['active', 'the first work'] as const) : waitsForAccess;
      const hired = await untilHire(world, proposal, state, next);
      expect(hired).toMatchObject({ jobId: job, project: String(scenes.id), url: null, workedOn: null });
      const contract = hired.contractId ?? '';

      meet();
      const { session, password } = await enter(world, ada);
      expect(await projectsOf(session)).toContain(scenes.id);
      expect(await newcomers()).toHaveLength(1);
      const day = await work(session, scenes.tasks[0], { lead_time: 95, result: regions('a', 'b') });
      await live(hourMs);
      const { accessAt, workedOn } = await untilHire(world, proposal, 'active', null);
      expect([accessAt, workedOn]).toEqual([expect.any(String), day]);
      expect(await workOn(world, contract)).toBe('95/1/2');

      const { create, statusOf } = milestonesOf(world, contract);
      async function fund({ id: milestone }: Milestone) {
        const decide = await request(world, 'milestonesFund', { contract, milestone });
        expect(await statusOf(milestone)).toBe('NOT_FUNDED');
        await decide('confirmed');
        expect(await statusOf(milestone)).toBe('ACTIVE_FUNDED');
        return { contract, milestone };
      }
      const first = await create('The first two hours');
      expect(first).toMatchObject({ status: 'NOT_FUNDED', amountUsd: 48, volume: 2 });
      expect(await create('The first two hours')).toEqual(first);
      const payment = await fund(first);
      const pay = await request(world, 'milestonesApprove', payment);
      expect(await statusOf(first.id)).toBe('ACTIVE_FUNDED');
      await pay('confirmed');
      expect(await statusOf(first.id)).toBe('COMPLETED');
      expect(await own('milestonesApprove', payment, {})).toMatchObject({ status: 'confirmed' });

      // While money is funded, only a person may end it.
      await fund(await create('Two more'));
      meet();
      await work(session, scenes.tasks[1], { lead_time: 30, result: regions('a') });
      const end = await request(world, 'hireEnd', { contract });
      expect(await projectsOf(session)).toContain(scenes.id);
      await end('confirmed');
      expect(await untilHire(world, proposal, 'ended', null)).toMatchObject({ accessAt, workedOn });
      expect(await newcomers()).toEqual([]);
      expect(await site.signIn(ada.workEmail, password)).toBeNull();
      expect((await session.call('GET', '/api/projects/')).status).toBe(401);
      expect(await workOn(world, contract)).toBe('125/2/3');
      expect(await own('hireEnd', { contract }, { yes: true })).toMatchObject({ status: 'confirmed' });
      await pass(readEveryMs);
      expect(sandbox.listDeliveries()).toEqual([]);
    },
  );

  it('know that a trainer is in whom an earlier contract let in', async () => {
    const world = await open('sign_up');
    const { sandbox, signs, pass, live, meet, scenes, toTrainer } = world;
    const cleo = toTrainer('cleo');
    sandbox.hire({ jobId: signs.id, trainers: [cleo] });
    await pass(readEveryMs);
    const proposal = sandbox.propose({ jobId: await post(world), trainer: cleo }).proposalId;
    const decide = await request(world, 'hireConfirm', { proposal });
    await decide('confirmed');
    const { contractId, accessAt, decidedAt } = await untilHire(world, proposal, 'active', 'the first work');
    expect(accessAt && accessAt >= (decidedAt ?? '')).toBe(true);
    meet();
    const { session } = await enter(world, cleo);
    const day = await work(session, scenes.tasks[0], { lead_time: 20, result: regions('a') });
    await live(hourMs);
    expect(await untilHire(world, proposal, 'active', null)).toMatchObject({ accessAt, workedOn: day });
    expect(await workOn(world, contractId ?? '')).toBe('20/1/1');
  });
});

const waitsForAccess = ['waiting', 'access to the tool'] as const;

interface Invitation {
  kind: 'link' | 'password';
  url: string;
  username?: string;
  password?: string;
}

type Counts = Record<'seconds' | 'tasks' | 'labels', number>;

interface Usage {
  days: { due: Counts | null; sent: Counts | null }[];
  held: object[];
}
