import { beforeEach, expect, it } from 'vitest';
import { comparedMembersOf } from '../../../src/reconcile/drift/drift-store.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { createIncident, type Incident, minutes } from '../../support/incident.ts';
import { createMemoryTool } from '../../support/memory-tool.ts';
import { storageOf } from '../../support/storage-of.ts';

const group = { tool: 'studio', groupId: 'street-signs' };

describeEachDatabase('the memberships that a list is compared with', (openFresh) => {
  let incident: Incident;

  beforeEach(async () => {
    const tool = createMemoryTool('membership', { keyedBy: 'number', lists: true });
    incident = createIncident(await openFresh(), { tool });
    for (const trainer of ['in', 'out']) {
      const workEmail = `${trainer}@opentrain.work`;
      await incident.event('contract.started', { trainer, contract: `of-${trainer}`, workEmail });
    }
    await incident.event('contract.ended', { trainer: 'out', contract: 'of-out' });
    await incident.pass(minutes);
    expect(await incident.states()).toMatchObject({ 'street-signs/out': 'removed' });
  });

  async function compared(...accounts: { id?: string; address?: string }[]): Promise<number[]> {
    const { database, box, clock } = incident.engine;
    const toAccount = ({ id = '', address }: (typeof accounts)[number]) => ({
      id,
      digests: address === undefined ? [] : [box.digest(address)],
      isManaged: false,
      isProtected: false,
    });
    const listing = { listedAt: clock.now().toISOString(), accounts: accounts.map(toAccount) };
    const rows = await comparedMembersOf(storageOf(database), database.kysely, group, listing);
    return rows.map(({ id }) => id);
  }

  it('leave out removed trainers, unless an account in the list has their id or address', async () => {
    expect(await compared()).toEqual([1]);
    expect(await compared({ id: '7', address: 'somebody@elsewhere.example' })).toEqual([1]);
    expect(await compared({ id: '2' })).toEqual([1, 2]);
    expect(await compared({ id: '7', address: 'out@opentrain.work' })).toEqual([1, 2]);
  });

  it('include removed trainers whose absence is to be confirmed', async () => {
    const missedAt = '2026-03-15T10:00:00.000Z';
    await incident.engine.database.kysely.updateTable('membership').set({ missedAt }).where('id', '=', 2).execute();
    expect(await compared()).toEqual([1, 2]);
  });
});
