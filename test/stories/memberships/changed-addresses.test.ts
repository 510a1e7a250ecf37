import { beforeEach, describe, expect, it } from 'vitest';
import { createIncident, hours, type Incident, minutes } from '../../support/incident.ts';
import { createMemoryTool, type MemoryToolOptions } from '../../support/memory-tool.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

/** The work email of a trainer who is in, or is being added, changes: in every kind of tool. */

const signs = 'street-signs';
const first = { workEmail: 'amara@opentrain.work' };
const second = { workEmail: 'amara.new@opentrain.work' };

const kinds = [
  { findsById: true, updates: true, lists: true },
  { findsById: true, updates: false, lists: true },
  { findsById: true, updates: false, lists: false },
  { findsById: false, updates: true, lists: true },
  { findsById: false, updates: false, lists: true },
  { findsById: false, updates: false, lists: false },
  { findsById: false, hasAccounts: true, updates: false, lists: true },
] as const satisfies MemoryToolOptions[];

describeAnyDatabase('a work email that changes', (openFresh) => {
  let incident: Incident;
  const members = () => incident.tool.members(signs);
  const adds = () => incident.tool.calls.filter((call) => call.startsWith('add '));

  async function read(): Promise<void> {
    await incident.pass(15 * minutes);
    await incident.checkDrift();
    await incident.settle();
    await incident.pass(minutes);
  }

  async function end(): Promise<void> {
    await incident.event('contract.ended', {});
    await incident.pass(minutes);
    await read();
    expect(members()).toEqual([]);
    if (incident.tool.adapter.removeAccount !== undefined) {
      expect(incident.tool.accounts()).toEqual([]);
    }
  }

  describe.each(['number', 'address'] as const)('where ids are: %s', (keyedBy) => {
    describe.each(kinds)('%o', (kind) => {
      beforeEach(async () => {
        const tool = createMemoryTool('membership', { keyedBy, ...kind });
        incident = createIncident(await openFresh(), { tool });
      });

      it('of a trainer who is in: they are not invited again, and no member is left at the end', async () => {
        await incident.event('contract.started', first);
        await incident.event('contract.started', second);
        await read();
        expect(members()).toHaveLength(1);
        expect(adds()).toHaveLength(1);
        await end();
        expect(Object.values(await incident.states())).toEqual(['removed']);
      });

      it('before the retry of an add whose answer was lost', async () => {
        incident.tool.isLate = (call) => call === 'add';
        await incident.event('contract.started', first);
        incident.tool.arrive();
        incident.tool.isLate = () => false;
        await incident.event('contract.started', second);
        await read();
        expect(members()).toHaveLength(1);
        await end();
      });

      it('before an addition takes effect late whose answer was lost', async () => {
        incident.tool.isLate = (call) => call === 'add';
        await incident.event('contract.started', first);
        incident.tool.isLate = () => false;
        await incident.event('contract.started', second);
        await incident.pass(minutes);
        incident.tool.arrive();
        expect(members()).toHaveLength(2);
        await read();
        await end();
      });

      it('and changes back', async () => {
        await incident.event('contract.started', first);
        await incident.event('contract.started', second);
        await read();
        await incident.event('contract.started', first);
        await read();
        expect(members()).toHaveLength(1);
        await end();
      });

      it('while their contract ends', async () => {
        await incident.event('contract.started', first);
        await incident.take('contract.started', second);
        await incident.event('contract.ended', second);
        await incident.pass(minutes);
        await read();
        expect(members()).toEqual([]);
      });
    });
  });

  it('of a trainer who was in before us, under an address that only we give out', async () => {
    const tool = createMemoryTool('membership', { keyedBy: 'number', findsById: false });
    incident = createIncident(await openFresh(), { tool, managedDomains: ['opentrain.work'] });
    tool.seed(signs, '7', first.workEmail);
    await incident.event('contract.started', first);
    await incident.event('contract.started', second);
    await read();
    expect(members()).toEqual(['7']);
    await end();
  });

  it('of an invited trainer: the new address is invited too, and both are revoked', async () => {
    const tool = createMemoryTool('membership', { keyedBy: 'number', findsById: false });
    incident = createIncident(await openFresh(), { tool });
    const { findMember } = tool.adapter;
    tool.adapter.findMember = async (...call) => {
      const found = await findMember(...call);
      return found === null ? null : { ...found, isInvited: true };
    };
    await incident.event('contract.started', first);
    await incident.event('contract.started', second);
    await incident.pass(hours);
    expect(members()).toEqual(['1', '2']);
    await end();
  });
});
