import { beforeEach, expect, it } from 'vitest';
import { createAdapter } from '../../../src/adapters/create-adapter.ts';
import { inTransaction } from '../../../src/db/database.ts';
import { createInvitationStore } from '../../../src/engine/invitation-store.ts';
import type { RouteLink } from '../../../src/engine/link-router.ts';
import { toInstant } from '../../../src/lib/clock.ts';
import { type CvatFake, type CvatFakeOptions, openCvatFake } from '../../support/cvat-fake.ts';
import type { CvatAnswer } from '../../support/cvat-routes.ts';
import { describeEachDatabase, type OpenFresh } from '../../support/databases.ts';
import { createIncident, hours, type Incident } from '../../support/incident.ts';
import { createMemoryTool } from '../../support/memory-tool.ts';

const org = 'street-signs';

const toOrganization: RouteLink = ({ externalProjectId }) =>
  externalProjectId === null ? undefined : { tool: 'studio', groupId: org };

interface Stage {
  cvat: CvatFake;
  incident: Incident;
  /** The tool's ids. */
  protectedAccounts: string[];
  /** The account with this address, which CVAT itself shows to nobody. */
  account(email: string): number;
  isIn(email: string): boolean;
  membership(trainer: string): Promise<{ state: string; failure: string | null; id: number }>;
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
    ...{ cvat, incident, account, protectedAccounts },
    isIn: (email) => cvat.state.membershipOf(org, account(email))?.isActive === true,
    async membership(trainer) {
      const rows = await incident.engine.membershipRows();
      const found = rows.find(({ trainerId }) => trainerId === trainer);
      if (found === undefined) throw new Error(`no membership of ${trainer}`);
      return found;
    },
  };
}

const amara = { trainer: 'cmu1', contract: 'cmc1', workEmail: 'amara@opentrain.work' };
const zoe = { trainer: 'cmu2', contract: 'cmc2', workEmail: 'zoe@opentrain.work' };
const namesOf = new Map([
  [amara.workEmail, 'amara_n'],
  [zoe.workEmail, 'zoe_k'],
]);
const everybodyHasAnAccount = { nameOf: (email: string) => namesOf.get(email) };

describeEachDatabase('who calls themselves by a colleague’s address in CVAT', (openFresh) => {
  it('is out when they end, and the colleague gets in', async () => {
    const { cvat, incident, account, isIn } = await openStage(openFresh, everybodyHasAnAccount);
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

describeEachDatabase('an invitation of CVAT of which nobody knows the end', (openFresh) => {
  /** CVAT does what is asked, and the answer is lost. */
  const losesAnswers = () => {
    let isLosing = true;
    return {
      end: () => {
        isLosing = false;
      },
      options: {
        ...everybodyHasAnAccount,
        spoil: (line: string, answer: CvatAnswer) =>
          isLosing && line.startsWith('POST /api/invitations') ? { status: 502 } : answer,
      },
    };
  };

  it('lets nobody count as out who may be in under another name', async () => {
    const { end, options } = losesAnswers();
    const { cvat, incident, account, isIn, membership } = await openStage(openFresh, options);
    await incident.event('contract.started', amara);
    expect(isIn(amara.workEmail)).toBe(true);
    end();
    await incident.pass(hours);
    expect(await membership('cmu1')).toMatchObject({
      ...{ state: 'failed', failure: expect.stringContaining('in the organization already') },
    });
    await incident.event('contract.ended', amara);
    const id = account(amara.workEmail);
    expect(await membership('cmu1')).toMatchObject({
      ...{ state: 'failed', wanted: 0 },
      failure: `They may still be in, as one of these accounts, as adding them was never answered: ${id}. Remove the one that is theirs in studio; put the ids of the others into tools.studio.protected`,
    });
    await incident.pass(hours);
    expect(await membership('cmu1')).toMatchObject({ state: 'failed' });
    expect(isIn(amara.workEmail)).toBe(true);

    cvat.state.remove(cvat.state.membershipOf(org, id)?.id ?? 0);
    await incident.pass(hours);
    expect(await membership('cmu1')).toMatchObject({ state: 'removed', failure: null });
  });

  it('is proven to have let nobody in where all who came since are known', async () => {
    const { end, options } = losesAnswers();
    const { cvat, incident, membership, account } = await openStage(openFresh, options);
    const early = cvat.state.createUser('early', 'early@lab.example', true);
    cvat.state.invite(org, early.email, 'worker');
    incident.engine.clock.advance(2 * hours);
    await incident.event('contract.started', amara);
    end();
    await incident.event('contract.started', zoe);
    // Somebody has put it right by hand.
    const id = account(amara.workEmail);
    cvat.state.remove(cvat.state.membershipOf(org, id)?.id ?? 0);
    await incident.event('contract.ended', amara);
    expect(await membership('cmu1')).toMatchObject({ state: 'removed', failure: null });
    expect(await membership('cmu2')).toMatchObject({ state: 'active' });
  });

  it('and that is still to be accepted, as there is no mail, is held as well', async () => {
    const options = { ...everybodyHasAnAccount, mustConfirm: true, hasMail: false };
    const { cvat, incident, isIn, account, membership } = await openStage(openFresh, options);
    await incident.event('contract.started', amara);
    await incident.event('contract.ended', amara);
    expect(await membership('cmu1')).toMatchObject({ state: 'failed', wanted: 0 });
    const id = account(amara.workEmail);
    const pending = cvat.state.membershipOf(org, id);
    if (pending !== undefined) cvat.state.accept(pending);
    await incident.pass(hours);
    expect([isIn(amara.workEmail), (await membership('cmu1')).state]).toEqual([true, 'failed']);
    cvat.state.remove(pending?.id ?? 0);
    await incident.pass(hours);
    expect(await membership('cmu1')).toMatchObject({ state: 'removed' });
  });

  it('holds up nobody for accounts that are protected', async () => {
    const { options } = losesAnswers();
    const stage = await openStage(openFresh, options);
    const { cvat, incident, account, membership } = stage;
    const boss = cvat.state.createUser('boss', 'boss@lab.example', true);
    expect(boss.id).toBeGreaterThan(0);
    stage.protectedAccounts.push(String(boss.id));
    await incident.event('contract.started', amara);
    cvat.state.invite(org, boss.email, 'supervisor');
    const id = account(amara.workEmail);
    cvat.state.remove(cvat.state.membershipOf(org, id)?.id ?? 0);
    await incident.event('contract.ended', amara);
    expect(await membership('cmu1')).toMatchObject({ state: 'removed' });
  });
});

describeEachDatabase('invitations of CVAT that are renewed', (openFresh) => {
  let stage: Stage;

  beforeEach(async () => {
    stage = await openStage(openFresh);
  });

  it('are good again for everybody, though CVAT sends five again in an hour', async () => {
    const { cvat, incident } = stage;
    const { engine } = incident;
    const people = Array.from({ length: 8 }, (_, number) => ({
      ...{ trainer: `t${number}`, contract: `c${number}` },
      workEmail: `t${number}@opentrain.work`,
    }));
    await incident.takeAll('contract.started', people);
    await incident.settle();
    const keysOf = () => cvat.state.memberships.flatMap(({ invitation }) => invitation?.key ?? []);
    const before = keysOf();
    const invitations = createInvitationStore(engine.box);
    await inTransaction(engine.database, (tx) =>
      invitations.renewAll(tx, 'studio', toInstant(engine.clock.now())),
    );
    await incident.settle();
    const rows = await engine.membershipRows();
    expect(rows.map(({ state, failure }) => [state, failure])).toEqual(
      people.map(() => ['invited', null]),
    );
    const after = keysOf();
    expect(after).toHaveLength(8);
    expect(after.filter((key) => before.includes(key))).toHaveLength(5);
    expect(await engine.rows('invitation')).toMatchObject(
      people.map(() => ({ isRenewalWanted: 0 })),
    );
    // They are the same accounts: whoever registers and accepts is known.
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
