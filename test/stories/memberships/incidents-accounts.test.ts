import { beforeEach, describe, expect, it } from 'vitest';
import { receiptsOf } from '../../support/converging.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { createIncident, hours, type Incident, minutes } from '../../support/incident.ts';
import { createMemoryTool } from '../../support/memory-tool.ts';

const signs = 'street-signs';
const lamps = { link: 'cml2', project: 'lamps' };

describeEachDatabase('two installs that share a group', (openFresh) => {
  let incident: Incident;

  beforeEach(async () => {
    incident = createIncident(await openFresh());
  });

  const members = () => incident.tool.members(signs);

  it("keep each other's people, whichever contract ends", async () => {
    await incident.event('contract.started', { trainer: 'cmu1' }, 'acme');
    await incident.event('contract.started', { trainer: 'cmu2' }, 'globex');
    await incident.event('contract.ended', { trainer: 'cmu1' }, 'acme');
    expect(members()).toEqual(['cmu2']);
    await incident.event('project_link.removed', {}, 'acme');
    await incident.pass(hours);
    expect(members()).toEqual(['cmu2']);
  });

  it('keep a trainer who works for both until the last of them ends', async () => {
    await incident.event('contract.started', {}, 'acme');
    await incident.event('contract.started', {}, 'globex');
    await incident.event('contract.ended', {}, 'acme');
    expect(members()).toEqual(['cmu1']);
    await incident.event('contract.ended', {}, 'globex');
    expect(members()).toEqual([]);
    expect(incident.removals()).toEqual([`remove ${signs}/cmu1`]);
  });

  it('do not invite under an address that only the other one knows', async () => {
    await incident.event('contract.started', { trainer: 'cmu1', ...lamps }, 'globex');
    await incident.event('contract.started', { trainer: 'cmu1', workEmail: null }, 'acme');
    expect(members()).toEqual([]);
    expect(await incident.states()).toMatchObject({ [`${signs}/cmu1`]: 'waiting_email' });
    expect(incident.tool.calls.filter((call) => call.includes(signs))).toEqual([]);
  });

  it('keep an account that one trainer has under the addresses of both', async () => {
    const [ofAcme, ofGlobex] = [{ workEmail: 'one.1@opentrain.work' }, { workEmail: 'one.2@opentrain.work' }];
    await incident.event('contract.started', ofAcme, 'acme');
    await incident.event('contract.started', ofGlobex, 'globex');
    await incident.event('contract.ended', ofAcme, 'acme');
    expect(await receiptsOf(incident.engine)).toContain('remove kept_for_another');
    expect(members()).toEqual(['cmu1']);
    await incident.event('contract.ended', ofGlobex, 'globex');
    expect(members()).toEqual([]);
  });

  it('remove a trainer whose last reason never had an address', async () => {
    await incident.event('contract.started', {}, 'acme');
    await incident.event('contract.started', { workEmail: null }, 'globex');
    await incident.event('contract.ended', {}, 'acme');
    expect(members()).toEqual(['cmu1']);
    await incident.pass(hours);
    await incident.event('contract.ended', { workEmail: null }, 'globex');
    expect(members()).toEqual([]);
  });
});

describeEachDatabase('two trainers with one address', (openFresh) => {
  const one = { contract: 'cmc1', trainer: 'cmu1', workEmail: 'shared@opentrain.work' };
  const two = { contract: 'cmc2', trainer: 'cmu2', workEmail: 'Shared@opentrain.work' };

  describe.each([false, true])('in a tool that knows logins: %s', (hasAccounts) => {
    it('share an account that is ended with the second contract', async () => {
      const tool = createMemoryTool('membership', { keyedBy: 'address', hasAccounts });
      const incident = createIncident(await openFresh(), { tool });
      await incident.event('contract.started', one);
      await incident.event('contract.started', two);
      expect(tool.members(signs)).toEqual(['shared@opentrain.work']);

      await incident.event('contract.ended', one);
      expect(tool.members(signs)).toEqual(['shared@opentrain.work']);
      expect(incident.removals()).toEqual([]);
      expect(await incident.states()).toMatchObject({ [`${signs}/cmu1`]: 'removed' });

      await incident.event('contract.ended', two);
      expect(tool.members(signs)).toEqual([]);
      expect(incident.removals()).toHaveLength(1);
    });
  });

  it('share an account that is made again if its removal was due before the second contract', async () => {
    const tool = createMemoryTool('membership', { keyedBy: 'address' });
    const incident = createIncident(await openFresh(), { tool });
    await incident.event('contract.started', one);
    await incident.take('contract.ended', one);
    await incident.engine.brake();
    incident.engine.clock.advance(1000);
    await incident.take('contract.started', two);
    await incident.settle();
    // Whether two people with one address are one account, only the tool's own id can tell.
    expect(await receiptsOf(incident.engine)).toEqual(['add added', 'remove removed', 'add added']);
    expect(tool.members(signs)).toEqual(['shared@opentrain.work']);
  });
});

describeEachDatabase('an account that one trainer brought and another one shares', (openFresh) => {
  it('is ours through the trainer who stays, and is ended with them', async () => {
    const tool = createMemoryTool('membership', { keyedBy: 'address' });
    const incident = createIncident(await openFresh(), { tool });
    const one = { contract: 'cmc1', trainer: 'cmu1', workEmail: 'shared@opentrain.work' };
    const two = { ...one, contract: 'cmc2', trainer: 'cmu2' };
    tool.seed(signs, 'shared@opentrain.work');
    await incident.event('contract.started', two);
    tool.unseat(signs, 'shared@opentrain.work');
    await incident.event('contract.started', one);
    await incident.event('contract.ended', one);
    expect(tool.members(signs)).toEqual(['shared@opentrain.work']);
    await incident.event('contract.ended', two);
    expect(tool.members(signs)).toEqual([]);
  });
});

describeEachDatabase('a tool that can end a whole login', (openFresh) => {
  let incident: Incident;

  beforeEach(async () => {
    const tool = createMemoryTool('membership', { hasAccounts: true });
    incident = createIncident(await openFresh(), { tool });
    await incident.event('contract.started', { contract: 'cmc1' });
    await incident.event('contract.started', { contract: 'cmc2', ...lamps });
  });

  it('ends it only when no other membership of it is wanted', async () => {
    await incident.event('contract.ended', { contract: 'cmc1' });
    expect(incident.removals()).toEqual([`remove ${signs}/cmu1`]);
    await incident.event('contract.ended', { contract: 'cmc2', ...lamps });
    expect(incident.removals()).toEqual([`remove ${signs}/cmu1`, 'end lamps/cmu1']);
  });

  it('does not end it while another membership of it is in its grace period', async () => {
    await incident.event('project_link.removed', lamps);
    await incident.event('contract.ended', { contract: 'cmc1' });
    expect(incident.removals()).toEqual([`remove ${signs}/cmu1`]);
    await incident.pass(15 * minutes);
    expect(incident.removals()).toEqual([`remove ${signs}/cmu1`, 'end lamps/cmu1']);
  });

  it('ends it only after a check of its other memberships in the transaction of the intent', async () => {
    const { tool } = incident;
    await incident.event('contract.ended', { contract: 'cmc1' });
    // Hired again between the look and the intent.
    tool.before = async (call) => {
      tool.before = () => undefined;
      if (call === 'find') await incident.take('contract.started', { contract: 'cmc3' });
    };
    await incident.take('contract.ended', { contract: 'cmc2', ...lamps });
    await incident.settle();
    expect(incident.removals()).toEqual([`remove ${signs}/cmu1`, 'remove lamps/cmu1']);
    expect(tool.members(signs)).toEqual(['cmu1']);
  });

  it('has the other groups looked at again if a worker has ended it all the same', async () => {
    const { tool } = incident;
    await incident.event('contract.ended', { contract: 'cmc1' });
    // Hired for the other group again while the call is under way: the login goes with it.
    tool.before = async (call) => {
      if (call !== 'end') return;
      tool.before = () => undefined;
      await incident.event('contract.started', { contract: 'cmc3' });
      expect(tool.members(signs)).toEqual(['cmu1']);
    };
    await incident.event('contract.ended', { contract: 'cmc2', ...lamps });
    expect(incident.removals().at(-1)).toBe('end lamps/cmu1');
    expect(tool.members('lamps')).toEqual([]);
    expect(tool.members(signs)).toEqual(['cmu1']);
  });
});

describeEachDatabase('a protected account', (openFresh) => {
  it('is neither invited, nor searched for, nor removed', async () => {
    const converging = { protectedAccounts: ['Boss@opentrain.work'] };
    const incident = createIncident(await openFresh(), { converging });
    await incident.event('contract.started', { workEmail: 'boss@opentrain.work' });
    await incident.event('contract.ended', { workEmail: 'boss@opentrain.work' });
    await incident.pass(2 * hours);
    expect(incident.tool.calls).toEqual([]);
  });

  it('is left alone if it is found by its id, even when its contract ends', async () => {
    const converging = { protectedAccounts: ['cmu1'] };
    const managedDomains = ['opentrain.work'];
    const incident = createIncident(await openFresh(), { converging, managedDomains });
    incident.tool.seed(signs, 'cmu1');
    await incident.event('contract.started');
    await incident.event('contract.ended');
    await incident.pass(2 * hours);
    expect(incident.tool.members(signs)).toEqual(['cmu1']);
    expect(incident.tool.calls.filter((call) => !call.startsWith('find '))).toEqual([]);
  });
});

describeEachDatabase('with managed domains', (openFresh) => {
  let incident: Incident;

  beforeEach(async () => {
    incident = createIncident(await openFresh(), { managedDomains: ['opentrain.work'] });
  });

  it('a foreign address is never searched for or invited', async () => {
    await incident.event('contract.started', { workEmail: 'amara@elsewhere.example' });
    await incident.event('contract.ended', { workEmail: 'amara@elsewhere.example' });
    expect(incident.tool.calls).toEqual([]);
  });

  it('a trainer who was there before us is ours by a managed address, and goes in the end', async () => {
    incident.tool.seed(signs, 'cmu1');
    await incident.event('contract.started');
    await incident.event('contract.ended');
    expect(incident.tool.members(signs)).toEqual([]);
  });

  it('and without them is not ours, and stays', async () => {
    const plain = createIncident(await openFresh());
    plain.tool.seed(signs, 'cmu1');
    await plain.event('contract.started');
    await plain.event('contract.ended');
    expect(plain.tool.members(signs)).toEqual(['cmu1']);
    expect(await plain.states()).toEqual({ [`${signs}/cmu1`]: 'released' });
    expect(plain.removals()).toEqual([]);
  });
});
