import { beforeEach, expect, it } from 'vitest';
import { createAdapter } from '../../../src/adapters/create-adapter.ts';
import { inTransaction } from '../../../src/db/database.ts';
import { createInvitationStore } from '../../../src/engine/invitation-store.ts';
import type { RouteLink } from '../../../src/engine/link-router.ts';
import { toInstant } from '../../../src/lib/clock.ts';
import { type CvatFake, openCvatFake } from '../../support/cvat-fake.ts';
import type { CvatOptions } from '../../support/cvat-state.ts';
import { describeEachDatabase, type OpenFresh } from '../../support/databases.ts';
import { createIncident, hours, type Incident } from '../../support/incident.ts';
import { createMemoryTool } from '../../support/memory-tool.ts';

const org = 'street-signs';

const toOrganization: RouteLink = ({ externalProjectId }) =>
  externalProjectId === null ? undefined : { tool: 'studio', groupId: org };

interface Stage {
  cvat: CvatFake;
  incident: Incident;
  /** The account with this address, which CVAT itself shows to nobody. */
  account(email: string): number;
  isIn(email: string): boolean;
  membership(trainer: string): Promise<{ state: string; failure: string | null; id: number }>;
}

/** CVAT behind the engine, with its clock. */
async function openStage(openFresh: OpenFresh, options: CvatOptions = {}): Promise<Stage> {
  let now = () => new Date();
  const cvat = await openCvatFake({ ...options, now: () => now() });
  const adapter = createAdapter('studio', 'cvat', cvat.settings);
  const tool = { ...createMemoryTool(), adapter };
  const incident = createIncident(await openFresh(), { tool, routeLink: toOrganization });
  now = () => incident.engine.clock.now();
  const account = (email: string) => cvat.state.findByEmail(email)?.id ?? 0;
  return {
    ...{ cvat, incident, account },
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
