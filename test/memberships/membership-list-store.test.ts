import { beforeEach, expect, it } from 'vitest';
import { findMembership } from '../../src/memberships/look-store.ts';
import { type AccessFilter, listAccess } from '../../src/memberships/membership-list-store.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { createEngine, type Engine } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';

describeEachDatabase('the list of access', (openFresh) => {
  let engine: Engine;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
    await engine.apply([
      fullEvent({ type: 'contract.started' }),
      fullEvent({ type: 'contract.started', contract: 'cmc2', trainer: 'cmu2', link: 'cml2', project: 'lamps' }),
    ]);
    const { kysely } = engine.database;
    await kysely.updateTable('person').set({ displayName: '100% Älva_!' }).where('trainerId', '=', 'cmu2').execute();
  });

  async function trainers(filter: Partial<AccessFilter>): Promise<string[]> {
    const found = await listAccess(engine.database.kysely, { limit: 10, ...filter });
    return found.map(({ trainerId }) => trainerId);
  }

  const search = (text: string) => ({ search: { text, digest: engine.box.digest(text) } });

  it('is found by name, id, project and contract, the newest first', async () => {
    const all = await listAccess(engine.database.kysely, { limit: 10 });
    const ids = all.map(({ id }) => id);
    expect(ids).toEqual([...ids].sort((a, b) => b - a));
    expect(ids).toHaveLength(2);
    const [first, second] = all;
    expect(await trainers({ before: first?.id })).toEqual([second?.trainerId]);
    expect(await trainers({ limit: 1 })).toEqual([first?.trainerId]);
    for (const text of ['cmu2', '100% ', 'LVA_!', 'LAMP']) expect(await trainers(search(text))).toEqual(['cmu2']);
    for (const text of ['1%!', 'a_!_', "'", 'cmu']) expect(await trainers(search(text))).toEqual([]);
    expect(await trainers({ project: 'lamps' })).toEqual(['cmu2']);
    expect(await trainers({ contractId: 'cmc2' })).toEqual(['cmu2']);
    expect(await trainers({ tool: 'none' })).toEqual([]);
    expect(await trainers({ state: 'failed' })).toEqual([]);
  });

  it('has the recorded reasons of each', async () => {
    const [access] = await listAccess(engine.database.kysely, { trainerId: 'cmu2', limit: 10 });
    expect(access?.reasons).toMatchObject([{ contractId: 'cmc2', linkId: 'cml2', externalProjectId: 'lamps' }]);
  });

  it('knows which membership waits for something else than its turn', async () => {
    const { kysely } = engine.database;
    const [access] = await listAccess(kysely, { trainerId: 'cmu2', limit: 1 });
    const id = access?.id ?? 0;
    expect(await findMembership(kysely, id)).toMatchObject({ trainerId: 'cmu2', isWorkable: true });
    await kysely.updateTable('membership').set({ state: 'held', wanted: false }).where('id', '=', id).execute();
    expect(await findMembership(kysely, id)).toMatchObject({ state: 'held', isWorkable: false });
    expect(await findMembership(kysely, 999_999)).toBeUndefined();
  });
});
