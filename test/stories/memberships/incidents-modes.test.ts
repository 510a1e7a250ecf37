import { beforeEach, expect, it } from 'vitest';
import { describeEachDatabase } from '../../support/databases.ts';
import { createIncident, hours, type Incident, type Listing, minutes } from '../../support/incident.ts';
import { createMemoryTool } from '../../support/memory-tool.ts';

const signs = 'street-signs';
const amara = { contract: 'cmc1', trainer: 'cmu1', link: 'cml1' };
const listed = (provisioningMode: string, ...ids: string[]): Listing => ({
  links: { cml1: signs },
  provisioningMode,
  active: Object.fromEntries(ids.map((id) => [id, { links: ['cml1'], people: [id.replace('cmc', 'cmu')] }])),
});

describeEachDatabase('an unknown provisioning mode', (openFresh) => {
  let incident: Incident;
  const members = () => incident.tool.members(signs);

  beforeEach(async () => {
    incident = createIncident(await openFresh(), {
      tool: createMemoryTool('membership', { lists: true }),
    });
  });

  it('gives no trainer access, by an event or a reading, and is reported', async () => {
    await incident.read(listed('CUSTOM_MODE', 'cmc1', 'cmc2'));
    await incident.event('contract.started', { ...amara, provisioningMode: 'CUSTOM_MODE' });
    await incident.pass(hours);
    expect(incident.tool.calls).toEqual([]);
    expect(await incident.engine.membershipRows()).toEqual([]);
    expect(await incident.alerts('link_outside')).toBe(1);
    expect(incident.engine.log.lines()).toContainEqual(
      expect.objectContaining({ alert: 'link_outside', link: 'cml1', msg: expect.stringContaining('CUSTOM_MODE') }),
    );
  });

  it('gives access once the mode is known', async () => {
    await incident.read(listed('CUSTOM_MODE', 'cmc1'));
    await incident.pass(15 * minutes);
    await incident.read(listed('PARTNER_WEBHOOK', 'cmc1'));
    expect(members()).toEqual(['cmu1']);
  });

  it('keeps no trainer who has left the contract', async () => {
    const withMode = (mode: string, people: string[]): Listing => ({
      links: { cml1: signs },
      provisioningMode: mode,
      active: { cmc1: { links: ['cml1'], people } },
    });
    await incident.read(withMode('PARTNER_WEBHOOK', ['cmu1', 'cmu2', 'cmu3', 'cmu4']));
    await incident.pass(7 * hours);
    await incident.read(withMode('CUSTOM_MODE', ['cmu2', 'cmu3', 'cmu4']));
    await incident.pass(7 * hours);
    await incident.read(withMode('CUSTOM_MODE', ['cmu2', 'cmu3', 'cmu4']));
    await incident.pass(hours);
    expect(await incident.states()).toMatchObject({ [`${signs}/cmu1`]: 'removed' });
    expect(members()).toEqual(['cmu2', 'cmu3', 'cmu4']);
  });

  it('removes no trainer, adds none, and ends with the contract', async () => {
    await incident.event('contract.started', amara);
    await incident.take('contract.started', { ...amara, contract: 'cmc2', trainer: 'cmu2' });
    await incident.read(listed('CUSTOM_MODE', 'cmc1', 'cmc2', 'cmc3'));
    await incident.pass(30 * hours);
    expect(members()).toEqual(['cmu1']);
    expect(incident.removals()).toEqual([]);
    expect(await incident.states()).toMatchObject({ [`${signs}/cmu1`]: 'orphaned' });
    incident.tool.unseat(signs, 'cmu1');
    await incident.read(listed('CUSTOM_MODE', 'cmc1', 'cmc2', 'cmc3'));
    await incident.pass(hours);
    expect(members()).toEqual([]);
  });

  it('keeps no trainer in whose contract ends', async () => {
    await incident.event('contract.started', amara);
    await incident.read(listed('CUSTOM_MODE', 'cmc1'));
    await incident.event('contract.ended', amara);
    expect(members()).toEqual([]);
  });

  it('is followed back, and a trainer that we had added is ours as before', async () => {
    await incident.event('contract.started', amara);
    for (const mode of ['CUSTOM_MODE', 'PARTNER_WEBHOOK']) {
      await incident.pass(15 * minutes);
      await incident.read(listed(mode, 'cmc1'));
    }
    expect(await incident.engine.membershipRows()).toMatchObject([{ state: 'active', isOurs: true }]);
    await incident.event('contract.ended', amara);
    expect(members()).toEqual([]);
  });
});

describeEachDatabase('a provisioning mode that changes', (openFresh) => {
  let incident: Incident;
  const members = () => incident.tool.members(signs);
  const read = async (mode: string) => {
    await incident.pass(15 * minutes);
    await incident.read(listed(mode, 'cmc1'));
    await incident.pass(15 * minutes);
  };

  beforeEach(async () => {
    incident = createIncident(await openFresh(), {
      tool: createMemoryTool('membership', { lists: true }),
    });
    await incident.event('contract.started', amara);
    await read('PARTNER_WEBHOOK');
    await read('MANAGED_ADAPTER');
  });

  it('leaves all trainers to the marketplace', async () => {
    expect(members()).toEqual(['cmu1']);
    expect(await incident.states()).toEqual({ [`${signs}/cmu1`]: 'released' });
    await incident.event('contract.started', { contract: 'cmc2', trainer: 'cmu2' });
    expect(members()).toEqual(['cmu1']);
  });

  it('does not add again a trainer whom the marketplace removes', async () => {
    incident.tool.unseat(signs, 'cmu1');
    for (let reading = 0; reading < 3; reading += 1) await read('MANAGED_ADAPTER');
    expect(members()).toEqual([]);
    expect(incident.removals()).toEqual([]);
  });

  it('is followed back again', async () => {
    incident.tool.unseat(signs, 'cmu1');
    await read('PARTNER_WEBHOOK');
    expect(members()).toEqual(['cmu1']);
    expect(await incident.states()).toEqual({ [`${signs}/cmu1`]: 'active' });
    await incident.event('contract.ended', amara);
    expect(members()).toEqual([]);
  });
});
