import { beforeEach, expect, it } from 'vitest';
import { loadBearing } from '../../src/memberships/explain-store.ts';
import { decidePlanItems } from '../../src/removals/plan-store.ts';
import { convergeDue } from '../support/converging.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { createEngine, type Engine, limitRemovals } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { inviteAll } from '../support/invite.ts';
import { createMemoryTool } from '../support/memory-tool.ts';

const amara = fullEvent({ type: 'contract.started' });
const bruno = fullEvent({
  type: 'contract.started',
  contract: 'cmc2',
  trainer: 'cmu2',
  link: 'cml2',
  project: 'lamps',
});

describeEachDatabase('what bears on a trainer', (openFresh) => {
  let engine: Engine;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
    await engine.apply([amara, bruno]);
  });

  const empty = {
    contracts: [],
    participations: [],
    pairs: [],
    links: [],
    grants: [],
    people: [],
    memberships: [],
    reasons: [],
    plans: new Map(),
    invitations: new Map(),
  };

  it.each([['cmu1'], ['cmc1'], ['cmu1@opentrain.work'], [' CMU1@OpenTrain.Work ']])(
    'is found by "%s", and nothing of others',
    async (subject) => {
      const bearing = await loadBearing(engine, subject);
      expect(bearing).toMatchObject({
        contracts: [{ contractId: 'cmc1' }],
        participations: [{ trainerId: 'cmu1' }],
        pairs: [{ linkId: 'cml1' }],
        links: [{ externalProjectId: 'street-signs' }],
        people: [{ trainerId: 'cmu1', workEmailDomain: 'opentrain.work' }],
        memberships: [{ trainerId: 'cmu1' }],
        reasons: [{ contractId: 'cmc1' }],
      });
      for (const rows of [bearing.contracts, bearing.links, bearing.memberships, bearing.people]) {
        expect(rows).toHaveLength(1);
      }
    },
  );

  it('has the invitation, and whether an operator has delivered it', async () => {
    await inviteAll(engine);
    const { invitations, memberships } = await loadBearing(engine, 'cmu1');
    const invitation = { kind: 'link', deliveredAt: null, deliveredBy: null };
    expect([...invitations]).toEqual([[memberships[0]?.id, invitation]]);
  });

  it('is empty for an unknown trainer', async () => {
    expect(await loadBearing(engine, 'cmu9')).toEqual(empty);
    expect(await loadBearing(engine, 'unknown@opentrain.work')).toEqual(empty);
    expect(await loadBearing(engine, '')).toEqual(empty);
  });

  it('leaves out the contract with the same id of another install', async () => {
    await engine.apply([fullEvent({ type: 'contract.started', trainer: 'cmu5' })], 'globex');
    const { contracts } = await loadBearing(engine, 'cmu1');
    expect(contracts).toMatchObject([{ install: 'acme' }]);
    const asked = await loadBearing(engine, 'cmc1');
    expect(asked.contracts).toMatchObject([{ install: 'acme' }, { install: 'globex' }]);
  });

  it('has the open plan that holds a membership, and none that is stale or decided', async () => {
    limitRemovals(engine, { max: 0 });
    await convergeDue(engine, createMemoryTool());
    await engine.apply([fullEvent({ type: 'project_link.removed' })]);
    await engine.takeIn();
    await engine.pass(15 * 60_000);
    const [held] = await engine.membershipRows();
    expect(held).toMatchObject({ state: 'held' });
    expect([...(await loadBearing(engine, 'cmu1')).plans]).toEqual([[held?.id, 1]]);

    const { kysely } = engine.database;
    await kysely.updateTable('membership').set({ generation: 9 }).execute();
    expect((await loadBearing(engine, 'cmu1')).plans.size).toBe(0);
    await kysely.updateTable('planItem').set({ generation: 9 }).execute();
    await decidePlanItems(engine, kysely, 1, 'rejected', '2026-03-15T13:00:00.000Z');
    expect((await loadBearing(engine, 'cmu1')).plans.size).toBe(0);
  });
});
