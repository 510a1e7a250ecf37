import { beforeEach, describe, expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { toInstant } from '../../../src/lib/clock.ts';
import { decidePlanItems, listPlanItems } from '../../../src/removals/plan-store.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { createIncident, hours, type Incident, type Listing, minutes } from '../../support/incident.ts';

const amara = { contract: 'cmc1', trainer: 'cmu1', link: 'cml1' };
/** Another job of the same customer, so that there is always something to be listed. */
const other = { links: ['cml9'], people: ['cmu9'] };
const before: Listing = {
  links: { cml1: 'street-signs', cml9: 'lamps' },
  active: { cmc1: { links: ['cml1'], people: ['cmu1'] }, cmc9: other },
};
/** The same job, linked to the same project by another link. */
const repointed: Listing = {
  links: { cml2: 'street-signs', cml9: 'lamps' },
  active: { cmc1: { links: ['cml2'], people: ['cmu1'] }, cmc9: other },
};
/** Another job instead of the first. */
const replaced: Listing = {
  links: { cml2: 'street-signs', cml9: 'lamps' },
  active: { cmc2: { links: ['cml2'], people: ['cmu2'] }, cmc9: other },
};

async function expectSignsKept(incident: Incident): Promise<void> {
  expect(incident.tool.members('street-signs')).toEqual(['cmu1']);
  expect(incident.removals()).toEqual([]);
  expect(await incident.plans()).toEqual([]);
}

describeEachDatabase('a project that is re-pointed', (openFresh) => {
  let incident: Incident;

  beforeEach(async () => {
    incident = createIncident(await openFresh());
    await incident.event('contract.started', amara);
    await incident.read(before);
  });

  const members = () => incident.tool.members('street-signs');
  const expectKept = () => expectSignsKept(incident);
  const repoint = async () => {
    await incident.event('project_link.removed', { link: 'cml1' });
    await incident.event('project_link.created', { link: 'cml2' });
  };

  describe.each([
    ['within the grace', 5 * minutes],
    ['long after it', 20 * hours],
  ])('with its contracts read %s', (_, laterMs) => {
    it('keeps its people without a call to the tool', async () => {
      await repoint();
      await incident.pass(laterMs);
      expect(members()).toEqual(['cmu1']);
      await incident.read(repointed);
      await incident.pass(30 * hours);
      await expectKept();
    });

    it('loses them to the read if the new link is for another job', async () => {
      await repoint();
      await incident.pass(laterMs);
      expect(members()).toEqual(['cmu1']);
      await incident.read(replaced);
      await incident.pass(15 * minutes);
      expect(members()).toEqual(['cmu2']);
    });
  });

  it('keeps its people when the new link is announced before the old one is removed', async () => {
    await incident.event('project_link.created', { link: 'cml2' });
    await incident.event('project_link.removed', { link: 'cml1' });
    await incident.pass(hours);
    await incident.read(repointed);
    await incident.pass(30 * hours);
    await expectKept();
  });

  it('keeps its people when no event announced it', async () => {
    await incident.pass(hours);
    await incident.read(repointed);
    await incident.pass(hours);
    await incident.read(repointed);
    await incident.pass(30 * hours);
    await expectKept();
  });

  it.each([
    ['with its events', true],
    ['without an event', false],
  ])('has the person in who came to the contract while it had no link: %s', async (_, areSent) => {
    await incident.pass(minutes);
    await incident.read(before);
    if (areSent) await incident.event('project_link.removed', { link: 'cml1' });
    await incident.pass(5 * minutes);
    if (areSent) await incident.event('project_link.created', { link: 'cml2' });
    const listing = { ...repointed, active: { ...repointed.active, cmc1: { links: ['cml2'], people: ['cmu2'] } } };
    await incident.read(listing);
    expect(members()).toEqual(['cmu1', 'cmu2']);
    await incident.pass(30 * minutes);
    await incident.read(listing);
    await incident.pass(30 * minutes);
    expect(members()).toEqual(['cmu2']);
  });

  it('keeps its people if the first list after it is some seconds old', async () => {
    await repoint();
    for (const laterMs of [1000, minutes - 1001]) {
      await incident.pass(laterMs);
      await incident.read({ ...repointed, active: { cmc9: other } });
    }
    await incident.pass(15 * minutes);
    expect(members()).toEqual(['cmu1']);
    await incident.read(repointed);
    await incident.pass(30 * hours);
    await expectKept();
  });

  describe('to a link of the same job, while lists are cut off without a sign', () => {
    const jobs = { cml1: 'job1', cml2: 'job1' };
    const cutOff: Listing = { ...repointed, jobs, active: { cmc9: other } };

    beforeEach(async () => {
      await incident.pass(hours);
      await incident.read({ ...before, jobs });
      await repoint();
      for (let reading = 0; reading < 3; reading += 1) {
        await incident.pass(15 * minutes);
        await incident.read(cutOff);
      }
    });

    it('keeps its people until they are listed', async () => {
      expect(members()).toEqual(['cmu1']);
      await incident.read({ ...repointed, jobs });
      await incident.pass(30 * hours);
      await expectKept();
    });

    it('keeps its people for at most a day', async () => {
      await incident.pass(24 * hours - 45 * minutes - 1);
      expect(members()).toEqual(['cmu1']);
      await incident.pass(1);
      expect(members()).toEqual([]);
    });
  });

  it('loses them to a list that began a minute after the new link was seen', async () => {
    await repoint();
    await incident.pass(minutes);
    await incident.read(replaced);
    await incident.pass(14 * minutes - 1);
    expect(members()).toEqual(['cmu1', 'cmu2']);
    await incident.pass(1);
    expect(members()).toEqual(['cmu2']);
  });

  it('does not hold up an explicit end', async () => {
    await repoint();
    await incident.pass(hours);
    // Nothing is active any more, and of an empty list nothing follows: but this one is listed.
    const ended = { cmc1: { links: ['cml2'], people: ['cmu1'] } };
    await incident.read({ links: { cml2: 'street-signs' }, ended });
    expect(members()).toEqual([]);
  });

  it('is left to the marketplace if it provisions the project from then on', async () => {
    await incident.event('project_link.removed', { link: 'cml1' });
    const provisioningMode = 'MANAGED_ADAPTER';
    await incident.event('project_link.created', { link: 'cml2', provisioningMode });
    expect(await incident.states()).toMatchObject({ 'street-signs/cmu1': 'released' });
    await incident.pass(hours);
    await incident.read({ ...repointed, provisioningMode });
    await incident.event('contract.ended', { ...amara, link: 'cml2', provisioningMode });
    await incident.pass(48 * hours);
    await expectKept();
  });

  it('invites no trainer again whose contract ended while its job was not linked', async () => {
    await incident.event('project_link.removed', { link: 'cml1' });
    await incident.pass(hours);
    expect(members()).toEqual([]);
    const calls = incident.tool.calls.length;

    // Its `contract.ended` was never raised, for no link was there to raise it for.
    await incident.event('project_link.created', { link: 'cml3' });
    await incident.pass(hours);
    await incident.read({
      links: { cml3: 'street-signs', cml9: 'lamps' },
      active: { cmc9: other },
      ended: { cmc1: { links: ['cml3'], people: ['cmu1'] } },
    });
    await incident.pass(30 * hours);
    expect(incident.tool.calls.slice(calls)).toEqual([]);
    expect(members()).toEqual([]);
  });

  it('invites people again whose contract went on while its job was not linked', async () => {
    await incident.event('project_link.removed', { link: 'cml1' });
    await incident.pass(hours);
    expect(members()).toEqual([]);
    await incident.event('project_link.created', { link: 'cml2' });
    await incident.read(repointed);
    expect(members()).toEqual(['cmu1']);
  });
});

describeEachDatabase('a grant that is revoked', (openFresh) => {
  let incident: Incident;

  beforeEach(async () => {
    incident = createIncident(await openFresh());
    await incident.event('contract.started', amara);
    await incident.read({ ...before, grant: 'cmi1' });
    await incident.pass(hours);
  });

  const members = () => incident.tool.members('street-signs');
  const expectKept = () => expectSignsKept(incident);
  const revoke = async (grant: string) => {
    const createdAt = toInstant(incident.engine.clock.now());
    const event = { type: 'install.revoked', id: '77', createdAt, resourceId: grant };
    await incident.engine.apply([JSON.stringify(event)]);
    await incident.engine.apply([]);
    await incident.settle();
  };

  it('and connected again keeps all trainers, however late the revocation arrives', async () => {
    const createdAt = toInstant(incident.engine.clock.now());
    await incident.pass(minutes);
    await incident.read({ ...repointed, grant: 'cmi2' });
    await incident.pass(20 * hours);
    const late = { type: 'install.revoked', id: '77', createdAt, resourceId: 'cmi1' };
    await incident.engine.apply([JSON.stringify(late)]);
    await incident.pass(15 * minutes);
    await incident.read({ ...repointed, grant: 'cmi2' });
    await incident.pass(60 * hours);
    await expectKept();
  });

  /** The same customer, whose projects are still to be linked again. */
  const unlinked: Listing = { links: {}, grant: 'cmi2' };
  const readUnlinked = async () => {
    await incident.read(unlinked);
    await incident.pass(11 * minutes);
    await incident.read(unlinked);
  };

  it('and connected again keeps all trainers for a day, until the links are made again', async () => {
    await readUnlinked();
    await incident.pass(23 * hours);
    expect(members()).toEqual(['cmu1']);
    await incident.read({ ...repointed, grant: 'cmi2' });
    await incident.pass(60 * hours);
    await expectKept();
  });

  it('and connected again removes the trainers after a day if the links are not made again', async () => {
    await readUnlinked();
    await incident.pass(24 * hours - 1);
    expect(await incident.plans()).toEqual([]);
    await incident.pass(1);
    expect(await incident.plans()).toEqual([2]);
  });

  it('and linked again at the end of that day keeps all trainers, though the list is old', async () => {
    await readUnlinked();
    await incident.pass(24 * hours - minutes);
    await incident.event('project_link.created', { link: 'cml2' });
    await incident.event('project_link.created', { link: 'cml8', project: 'lamps' });
    const anew = {
      cmc9: { ...other, links: ['cml8'] },
      cmc1: { links: ['cml2'], people: ['cmu1'] },
    };
    const links = { cml2: 'street-signs', cml8: 'lamps' };
    await incident.read({ grant: 'cmi2', links, active: {} });
    await incident.pass(15 * minutes);
    await incident.read({ grant: 'cmi2', links, active: anew });
    await incident.pass(60 * hours);
    await expectKept();
  });

  it.each([
    ['before the new one came', ['unlink', 'connect']],
    ['after the new one came', ['connect', 'unlink']],
    ['and not connected again yet', ['revoke', 'unlink']],
  ])('keeps all trainers for a day where the links go with the old grant: %s', async (_, steps) => {
    for (const step of steps) {
      if (step === 'revoke') await revoke('cmi1');
      if (step === 'connect') await incident.read(unlinked);
      if (step !== 'unlink') continue;
      await incident.event('project_link.removed', { link: 'cml1' });
      await incident.event('project_link.removed', { link: 'cml9', project: 'lamps' });
    }
    await incident.pass(24 * hours - 1);
    expect(members()).toEqual(['cmu1']);
    expect(await incident.plans()).toEqual([]);
    await incident.pass(1);
    expect(await incident.plans()).toEqual([2]);
  });

  it('removes people after the grace period if the new link is removed too', async () => {
    await readUnlinked();
    await incident.read({ ...repointed, grant: 'cmi2' });
    await incident.pass(2 * minutes);
    await incident.read({ ...repointed, grant: 'cmi2' });
    await incident.event('project_link.removed', { link: 'cml2' });
    await incident.pass(15 * minutes - 1);
    expect(members()).toEqual(['cmu1']);
    await incident.pass(1);
    expect(members()).toEqual([]);
  });

  it('removes people after the grace period if a link of the new grant is removed', async () => {
    await incident.read({ ...before, grant: 'cmi2' });
    await incident.pass(minutes);
    await incident.event('project_link.removed', { link: 'cml1' });
    await incident.pass(15 * minutes);
    expect(members()).toEqual([]);
  });

  it('keeps all trainers for a day, in which it may be connected again', async () => {
    await revoke('cmi1');
    await incident.pass(23 * hours);
    expect(members()).toEqual(['cmu1']);
    await incident.read({ ...repointed, grant: 'cmi2' });
    await incident.pass(20 * minutes);
    await incident.read({ ...repointed, grant: 'cmi2' });
    await incident.pass(60 * hours);
    await expectKept();
  });

  it('for good removes all trainers after a day, as far as the brake allows', async () => {
    await revoke('cmi1');
    await incident.pass(24 * hours - 1);
    expect(members()).toEqual(['cmu1']);
    expect(await incident.plans()).toEqual([]);
    await incident.pass(1);
    // Two of two: both are held, and neither goes until an operator says so.
    expect(await incident.plans()).toEqual([2]);
    expect(members()).toEqual(['cmu1']);
    const { engine } = incident;
    const now = toInstant(engine.clock.now());
    await inTransaction(engine.database, (tx) => decidePlanItems(engine, tx, 1, 'approved', now));
    await incident.settle();
    expect(members()).toEqual([]);
    expect(incident.tool.members('lamps')).toEqual([]);
  });

  it('also removes trainers whose project was re-pointed before and never read again', async () => {
    await incident.event('project_link.removed', { link: 'cml1' });
    await incident.event('project_link.created', { link: 'cml2' });
    await revoke('cmi1');
    await incident.pass(24 * hours - 1);
    expect(await incident.plans()).toEqual([]);
    await incident.pass(1);
    expect(await incident.plans()).toEqual([2]);
  });

  it('removes no trainer by refusing the token', async () => {
    for (let day = 0; day < 3; day += 1) {
      await incident.read({ ...before, isRefused: true });
      await incident.pass(24 * hours);
    }
    expect(members()).toEqual(['cmu1']);
    expect(await incident.plans()).toEqual([]);
    expect(await incident.alerts('marketplace_refuses')).toBeGreaterThan(0);
  });
});

describeEachDatabase('ten links that are removed at once', (openFresh) => {
  const ten = Array.from({ length: 10 }, (_, index) => index);
  let incident: Incident;

  beforeEach(async () => {
    incident = createIncident(await openFresh());
    for (const index of ten) await incident.take('contract.started', wishOf(index));
    await incident.settle();
    for (const index of ten) await incident.take('project_link.removed', wishOf(index));
    await incident.pass(15 * minutes);
  });

  const decide = async (decision: 'approve' | 'reject', plan = 1) => {
    const { database, clock } = incident.engine;
    const state = decision === 'approve' ? 'approved' : 'rejected';
    return await inTransaction(database, (tx) =>
      decidePlanItems(incident.engine, tx, plan, state, toInstant(clock.now())),
    );
  };
  const countIn = () => ten.filter((index) => incident.tool.members(`p${index}`).length > 0).length;

  it('are held by the brake as one plan, and its approval removes all', async () => {
    await incident.pass(48 * hours);
    expect(await incident.plans()).toEqual([10]);
    expect(await incident.alerts('removals_held')).toBe(1);
    expect(countIn()).toBe(10);
    const items = await listPlanItems(incident.engine, 1);
    expect(items.map(({ cause }) => cause)).toEqual(ten.map(() => 'link_removed'));

    expect(await decide('approve')).toEqual({ install: 'acme', decided: 10, stale: 0, open: 0 });
    await incident.settle();
    expect(countIn()).toBe(0);
  });

  it('keep their people when the plan is rejected, until there is other evidence', async () => {
    expect(await decide('reject')).toEqual({ install: 'acme', decided: 10, stale: 0, open: 0 });
    await incident.pass(100 * hours);
    expect(countIn()).toBe(10);
    expect(await incident.plans()).toEqual([10]);

    await incident.event('contract.ended', wishOf(0));
    expect(countIn()).toBe(9);
  });

  it('leave out of an approval the people who were linked again meanwhile', async () => {
    for (const index of [0, 1, 2]) {
      const wish = { ...wishOf(index), link: `again${index}` };
      await incident.event('contract.started', wish);
    }
    const stale = (await listPlanItems(incident.engine, 1)).filter(({ isStale }) => isStale);
    expect(stale.map(({ groupId }) => groupId)).toEqual(['p0', 'p1', 'p2']);
    expect(await decide('approve')).toEqual({ install: 'acme', decided: 7, stale: 3, open: 0 });
    await incident.settle();
    expect(ten.filter((index) => incident.tool.members(`p${index}`).length > 0)).toEqual([0, 1, 2]);
    const outcomes = (await listPlanItems(incident.engine, 1)).map(({ outcome }) => outcome);
    expect(outcomes.filter((outcome) => outcome === 'stale')).toHaveLength(3);
    await expect(decide('reject')).rejects.toMatchObject({ code: 'conflict' });
    await expect(decide('approve', 99)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('let a delivered end act at once', async () => {
    await incident.event('contract.ended', wishOf(0));
    expect(countIn()).toBe(9);
    expect(await incident.engine.rows('removal')).toMatchObject([{ clearance: 'delivered' }]);
    expect(Object.values(await incident.states()).filter((state) => state === 'held')).toHaveLength(9);
  });

  it('do not hold up a trainer who is hired meanwhile', async () => {
    await incident.event('contract.started', { ...wishOf(11), project: 'new' });
    expect(incident.tool.members('new')).toEqual(['cmu11']);
  });
});

function wishOf(index: number) {
  return { contract: `cmc${index}`, trainer: `cmu${index}`, link: `cml${index}`, project: `p${index}` };
}
