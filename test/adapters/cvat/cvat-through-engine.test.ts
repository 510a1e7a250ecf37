import { beforeEach, expect, it } from 'vitest';
import { createAdapter } from '../../../src/adapters/load-adapters.ts';
import { usualSecondLookMs as secondLookMs } from '../../../src/converge/converge-steps.ts';
import { wantAllRenewed } from '../../../src/converge/invitation-store.ts';
import { inTransaction } from '../../../src/db/database.ts';
import type { Row } from '../../../src/db/schema.ts';
import type { RouteLink } from '../../../src/domain/install.ts';
import { toInstant } from '../../../src/lib/clock.ts';
import { explainMembership } from '../../../src/operations/explain-membership.ts';
import { claimDue, converge } from '../../support/converging.ts';
import type { CvatAnswer } from '../../support/cvat-answer.ts';
import { type CvatFake, type CvatFakeOptions, openCvatFake } from '../../support/cvat-fake.ts';
import type { OpenFresh } from '../../support/databases.ts';
import { createIncident, hours, type Incident, minutes } from '../../support/incident.ts';
import { createMemoryTool } from '../../support/memory-tool.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const org = 'street-signs';

const toOrganization: RouteLink = ({ externalProjectId }) =>
  externalProjectId === null ? undefined : { tool: 'studio', groupId: org };

interface Stage {
  cvat: CvatFake;
  incident: Incident;
  /** The tool's ids. */
  protectedAccounts: string[];
  /** The account with this address, which CVAT itself does not show. */
  account(email: string): number;
  isIn(email: string): boolean;
  /** Removes a member without Gangway. */
  removeByHand(email: string): void;
  membership(trainer: string): Promise<Row<'membership'>>;
}

/** CVAT behind the engine, with its clock. */
async function openStage(openFresh: OpenFresh, options: CvatFakeOptions = {}): Promise<Stage> {
  let now = () => new Date();
  const cvat = await openCvatFake({ ...options, now: () => now() });
  const adapter = createAdapter('studio', 'cvat', cvat.settings);
  const tool = { ...createMemoryTool(), adapter };
  const protectedAccounts: string[] = [];
  const converging = { protectedAccounts };
  const routing = { tool, converging, routeLink: toOrganization };
  const incident = createIncident(await openFresh(), routing);
  now = () => incident.engine.clock.now();
  const account = (email: string) => cvat.state.findByEmail(email)?.id ?? 0;
  return {
    cvat,
    incident,
    account,
    protectedAccounts,
    removeByHand: (email) => void cvat.state.remove(cvat.state.membershipOf(org, account(email))?.id ?? 0),
    isIn: (email) => cvat.state.membershipOf(org, account(email))?.isActive === true,
    async membership(trainer) {
      const rows = await incident.engine.membershipRows();
      const found = rows.find(({ trainerId }) => trainerId === trainer);
      if (found === undefined) throw new Error(`no membership of ${trainer}`);
      return found;
    },
  };
}

/** How long after the end of a contract the start of the next may arrive. */
const grace = 15 * minutes;

const amara = { trainer: 'cmu1', contract: 'cmc1', workEmail: 'amara@opentrain.work' };
const zoe = { trainer: 'cmu2', contract: 'cmc2', workEmail: 'zoe@opentrain.work' };
const namesOf = new Map([
  [amara.workEmail, 'amara_n'],
  [zoe.workEmail, 'zoe_k'],
]);
const withAccounts = { nameOf: (email: string) => namesOf.get(email) };

describeAnyDatabase('a user of CVAT whose name is the address of a colleague', (openFresh) => {
  it('is out when their contract ends, and the colleague gets in', async () => {
    const { cvat, incident, account, isIn } = await openStage(openFresh, withAccounts);
    await incident.event('contract.started', amara);
    cvat.state.rename(account(amara.workEmail), zoe.workEmail);
    await incident.event('contract.started', zoe);
    expect([isIn(amara.workEmail), isIn(zoe.workEmail)]).toEqual([true, true]);
    await incident.event('contract.ended', amara);
    expect([isIn(amara.workEmail), isIn(zoe.workEmail)]).toEqual([false, true]);
    await incident.event('contract.ended', zoe);
    expect(isIn(zoe.workEmail)).toBe(false);
  });
});

describeAnyDatabase('an invitation of CVAT with an unknown outcome', (openFresh) => {
  /** CVAT executes the request, but the answer is lost. */
  const losesAnswers = () => {
    let isLosing = true;
    return {
      end: () => {
        isLosing = false;
      },
      options: {
        ...withAccounts,
        spoil: (line: string, answer: CvatAnswer) =>
          isLosing && line.startsWith('POST /api/invitations') ? { status: 502 } : answer,
      },
    };
  };

  it('does not take a person for out who may be in under another name', async () => {
    const { end, options } = losesAnswers();
    const stage = await openStage(openFresh, options);
    const { incident, account, isIn, membership } = stage;
    await incident.event('contract.started', amara);
    expect(isIn(amara.workEmail)).toBe(true);
    end();
    await incident.pass(hours);
    expect(await membership('cmu1')).toMatchObject({
      state: 'failed',
      failure: expect.stringContaining('a member has this address already'),
    });
    await incident.event('contract.ended', amara);
    const id = account(amara.workEmail);
    expect(await membership('cmu1')).toMatchObject({
      state: 'failed',
      wanted: false,
      failure: `The trainer may still be in as one of these accounts, because the tool never said which account it made for them: ${id}. Remove the trainer's account in studio, and put the ids of the others into tools.studio.protected`,
    });
    await incident.pass(hours);
    const held = await membership('cmu1');
    expect(held).toMatchObject({ state: 'failed' });
    expect(isIn(amara.workEmail)).toBe(true);
    // The same as in `gangway explain`.
    const circumstances = {
      hasEnded: true,
      hasOthers: false,
      plan: undefined,
      invitation: undefined,
      trouble: undefined,
      required: undefined,
    };
    expect(explainMembership(held, circumstances)).toMatchObject({
      holds: false,
      comesFirst: true,
      says: expect.stringContaining('The trainer may still be in as one of these accounts'),
    });

    stage.removeByHand(amara.workEmail);
    await incident.pass(hours);
    await incident.pass(secondLookMs);
    expect(await membership('cmu1')).toMatchObject({ state: 'removed', failure: null });
  });

  it('is known to have let nobody in if everyone who came since is known', async () => {
    const { end, options } = losesAnswers();
    const stage = await openStage(openFresh, options);
    const { cvat, incident, membership } = stage;
    const early = cvat.state.createUser('early', 'early@lab.example', true);
    cvat.state.invite(org, early.email, 'worker');
    incident.engine.clock.advance(2 * hours);
    await incident.event('contract.started', amara);
    end();
    await incident.event('contract.started', zoe);
    stage.removeByHand(amara.workEmail);
    await incident.event('contract.ended', amara);
    await incident.pass(secondLookMs);
    expect(await membership('cmu1')).toMatchObject({ state: 'removed', failure: null });
    expect(await membership('cmu2')).toMatchObject({ state: 'active' });
  });

  it('is held too if it is not accepted yet, because there is no mail', async () => {
    const options = { ...withAccounts, mustConfirm: true, hasMail: false };
    const { cvat, incident, isIn, account, membership } = await openStage(openFresh, options);
    await incident.event('contract.started', amara);
    await incident.event('contract.ended', amara);
    expect(await membership('cmu1')).toMatchObject({ state: 'failed', wanted: false });
    const id = account(amara.workEmail);
    const pending = cvat.state.membershipOf(org, id);
    if (pending !== undefined) cvat.state.accept(pending);
    await incident.pass(hours);
    expect([isIn(amara.workEmail), (await membership('cmu1')).state]).toEqual([true, 'failed']);
    cvat.state.remove(pending?.id ?? 0);
    await incident.pass(hours);
    await incident.pass(secondLookMs);
    expect(await membership('cmu1')).toMatchObject({ state: 'removed' });
  });

  it('holds no person back for accounts that are protected', async () => {
    const { options } = losesAnswers();
    const stage = await openStage(openFresh, options);
    const { cvat, incident, membership } = stage;
    const boss = cvat.state.createUser('boss', 'boss@lab.example', true);
    expect(boss.id).toBeGreaterThan(0);
    stage.protectedAccounts.push(String(boss.id));
    await incident.event('contract.started', amara);
    cvat.state.invite(org, boss.email, 'supervisor');
    stage.removeByHand(amara.workEmail);
    await incident.event('contract.ended', amara);
    await incident.pass(secondLookMs);
    expect(await membership('cmu1')).toMatchObject({ state: 'removed' });
  });
});

describeAnyDatabase('the jobs of a member of CVAT whose contract ends', (openFresh) => {
  let stage: Stage;
  let isBroken: boolean;

  beforeEach(async () => {
    isBroken = false;
    stage = await openStage(openFresh, {
      ...withAccounts,
      spoil: (line, answer) => (isBroken && line.startsWith('PATCH') ? { status: 503 } : answer),
    });
    await stage.incident.event('contract.started', amara);
  });

  function assign(count: number): void {
    const assigneeId = stage.account(amara.workEmail);
    for (let number = 0; number < count; number += 1) {
      stage.cvat.state.assign('jobs', org, { assigneeId });
    }
  }

  const listed = () => stage.cvat.state.jobsListedTo(stage.account(amara.workEmail)).length;

  it('give no removed member access, and are all ended before the member is taken for out', async () => {
    assign(100);
    const order: string[] = [];
    await stage.incident.event('contract.ended', amara);
    for (const { line } of stage.cvat.requests) {
      const [method = ''] = line.split(' ');
      if (/^(PATCH|DELETE)$/.test(method)) order.push(method);
    }
    expect(order).toEqual(['DELETE', ...Array(100).fill('PATCH')]);
    expect([stage.isIn(amara.workEmail), listed()]).toEqual([false, 0]);
    expect(await stage.membership('cmu1')).toMatchObject({ state: 'removed' });
  });

  it('are ended by the id alone after an interruption', async () => {
    assign(3);
    isBroken = true;
    await stage.incident.event('contract.ended', amara);
    expect(stage.isIn(amara.workEmail)).toBe(false);
    expect(await stage.membership('cmu1')).toMatchObject({ state: 'removing', wanted: false });
    isBroken = false;
    assign(2);
    await stage.incident.pass(hours);
    expect(listed()).toBe(0);
    await stage.incident.pass(secondLookMs);
    expect(await stage.membership('cmu1')).toMatchObject({ state: 'removed', failure: null });
  });

  it('are ended after a restart, even if only a name was known', async () => {
    assign(3);
    const { engine } = stage.incident;
    await stage.incident.take('contract.ended', amara);
    await engine.brake();
    const [claim] = await claimDue(engine);
    const dies = new AbortController();
    const { adapter } = stage.incident.tool;
    const crashing = {
      ...stage.incident.tool,
      adapter: {
        ...adapter,
        endAssignments: async () => {
          dies.abort();
          return await new Promise<never>(() => undefined);
        },
      },
    };
    if (claim === undefined) throw new Error('nothing is due');
    const known = { ...claim, memberId: null };
    await engine.database.kysely.updateTable('membership').set({ memberId: null }).execute();
    const pending = stage.cvat.state.membershipOf(org, stage.account(amara.workEmail));
    Object.assign(pending ?? {}, { isActive: false });
    stage.cvat.state.rename(stage.account(amara.workEmail), amara.workEmail);
    expect(await converge(engine, crashing, known, { signal: dies.signal })).toBeNull();
    expect([pending && stage.cvat.state.memberships.includes(pending), listed()]).toEqual([false, 3]);
    await stage.incident.pass(hours);
    expect(listed()).toBe(0);
    await stage.incident.pass(secondLookMs);
    expect(await stage.membership('cmu1')).toMatchObject({ state: 'removed' });
  });

  it('are ended if somebody else has removed the member', async () => {
    assign(2);
    stage.removeByHand(amara.workEmail);
    await stage.incident.event('contract.ended', amara);
    expect(listed()).toBe(0);
    await stage.incident.pass(secondLookMs);
    expect(await stage.membership('cmu1')).toMatchObject({ state: 'removed' });
  });
});

describeAnyDatabase('a member who leaves one project of an organization for another', (openFresh) => {
  const seven = { ...amara, link: 'cml7', project: '7' };
  const eight = { ...amara, contract: 'cmc8', link: 'cml8', project: '8' };
  let stage: Stage;

  beforeEach(async () => {
    stage = await openStage(openFresh, withAccounts);
    await stage.incident.event('contract.started', seven);
    await stage.incident.event('contract.started', eight);
    const assigneeId = stage.account(amara.workEmail);
    for (const projectId of [7, 7, 8, 9]) {
      stage.cvat.state.assign('jobs', org, { assigneeId, projectId });
    }
  });

  /** What is still assigned to them, by project. */
  const left = () =>
    stage.cvat.state.work.jobs.flatMap(({ assigneeId, projectId }) => (assigneeId === null ? [] : [projectId]));

  it('keeps the jobs of the other project, and of projects they were never linked to', async () => {
    await stage.incident.event('contract.ended', seven);
    expect(left()).toEqual([7, 7, 8, 9]);
    await stage.incident.pass(grace);
    expect(left()).toEqual([8, 9]);
    expect(stage.isIn(amara.workEmail)).toBe(true);
    expect(await stage.membership('cmu1')).toMatchObject({
      state: 'active',
      nextAttemptAt: null,
    });
    // What somebody assigns to them there later stays.
    stage.cvat.state.assign('jobs', org, { assigneeId: stage.account(amara.workEmail), projectId: 7 });
    await stage.incident.event('contract.started', { ...eight, contract: 'cmc9' });
    await stage.incident.pass(hours);
    expect(left()).toEqual([8, 9, 7]);
    await stage.incident.event('contract.ended', eight);
    await stage.incident.event('contract.ended', { ...eight, contract: 'cmc9' });
    expect([left(), stage.isIn(amara.workEmail)]).toEqual([[], false]);
  });

  it('keeps all jobs if a renewal arrives a little later', async () => {
    await stage.incident.event('contract.ended', seven);
    await stage.incident.event('contract.started', { ...seven, contract: 'cmc77' });
    await stage.incident.pass(hours);
    expect(left()).toEqual([7, 7, 8, 9]);
    await stage.incident.event('contract.ended', { ...seven, contract: 'cmc77' });
    await stage.incident.pass(grace);
    expect(left()).toEqual([8, 9]);
  });

  it('keeps all jobs if only the loss of a link is known', async () => {
    await stage.incident.event('project_link.removed', { link: 'cml7', project: '7' });
    await stage.incident.pass(hours);
    expect(left()).toEqual([7, 7, 8, 9]);
    expect(await stage.membership('cmu1')).toMatchObject({ state: 'active' });
  });

  it('stays in while CVAT fails to end the assignments, which is tried again', async () => {
    stage.cvat.faults.begin('remove', { does: 'answers', status: 503 });
    await stage.incident.event('contract.ended', seven);
    await stage.incident.pass(grace);
    expect(left()).toEqual([7, 7, 8, 9]);
    expect(await stage.membership('cmu1')).toMatchObject({
      state: 'active',
      failure: expect.stringContaining("end the member's assignments"),
    });
    stage.cvat.faults.end();
    await stage.incident.pass(hours);
    expect(left()).toEqual([8, 9]);
    expect(await stage.membership('cmu1')).toMatchObject({ state: 'active', failure: null });
  });

  it('keeps the assignments of another customer', async () => {
    const lamps = { ...amara, contract: 'cmg1', link: 'cmg7', project: '7' };
    await stage.incident.event('contract.started', lamps, 'globex');
    await stage.incident.event('contract.ended', seven);
    await stage.incident.pass(hours);
    expect(left()).toEqual([7, 7, 8, 9]);
    await stage.incident.event('contract.ended', lamps, 'globex');
    await stage.incident.pass(grace);
    expect(left()).toEqual([8, 9]);
  });
});

describeAnyDatabase('invitations of CVAT that are renewed', (openFresh) => {
  it('are renewed for everyone, although CVAT resends only five in an hour', async () => {
    const { cvat, incident } = await openStage(openFresh);
    const { engine } = incident;
    const people = Array.from({ length: 8 }, (_, number) => ({
      trainer: `t${number}`,
      contract: `c${number}`,
      workEmail: `t${number}@opentrain.work`,
    }));
    await incident.takeAll('contract.started', people);
    await incident.settle();
    const keysOf = () => cvat.state.memberships.flatMap(({ invitation }) => invitation?.key ?? []);
    const before = keysOf();
    await inTransaction(engine.database, (tx) => wantAllRenewed(tx, 'studio', toInstant(engine.clock.now())));
    await incident.settle();
    const rows = await engine.membershipRows();
    expect(rows.map(({ state, failure }) => [state, failure])).toEqual(people.map(() => ['invited', null]));
    const after = keysOf();
    expect(after).toHaveLength(8);
    expect(after.filter((key) => before.includes(key))).toHaveLength(5);
    expect(await engine.rows('invitation')).toMatchObject(people.map(() => ({ isRenewalWanted: false })));
    // The accounts are the same, so a person who registers and accepts is recognised.
    for (const { workEmail } of people) {
      const { id } = cvat.state.register(workEmail, workEmail.replace('@', '_'));
      const membership = cvat.state.membershipOf(org, id);
      if (membership !== undefined) cvat.state.accept(membership);
    }
    await incident.pass(hours);
    const states = (await engine.membershipRows()).map(({ state }) => state);
    expect(states).toEqual(people.map(() => 'active'));
  });
});
