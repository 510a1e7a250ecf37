import { beforeEach, expect, it } from 'vitest';
import { countedAfterMs } from '../../src/domain/brake.ts';
import { emptyEvidence, emptyLink } from '../../src/domain/evidence.ts';
import { instantIn } from '../../src/lib/clock.ts';
import { findMembership } from '../../src/memberships/look-store.ts';
import {
  type AccessFilter,
  type LeavingKey,
  type ListedMembership,
  leavingKeyOf,
  listAccess,
  listMemberships,
} from '../../src/memberships/membership-list-store.ts';
import { convergeDue } from '../support/converging.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { createEngine, type Engine, limitRemovals } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createMemoryTool, type MemoryTool } from '../support/memory-tool.ts';
import { describeAnyDatabase } from '../support/tries.ts';

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

const minuteMs = 60_000;

/** Each on a link of their own to one project, so that they leave one by one. */
function about(type: string, number: number): string {
  return fullEvent({ type, contract: `c${number}`, trainer: `t${number}`, link: `l${number}` });
}

describeAnyDatabase('the list of members who are about to leave', (openFresh) => {
  let engine: Engine;
  let tool: MemoryTool;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
    tool = createMemoryTool();
  });

  const leaving = () => listMemberships(engine.database.kysely, { isLeaving: true, limit: 100 });

  async function hire(...numbers: number[]): Promise<void> {
    await engine.apply(numbers.map((number) => about('contract.started', number)));
    // What their contracts are is known, so that none may take over from another.
    const contractsReadAt = instantIn(engine.clock, minuteMs);
    const links = numbers.map((number) => ({ ...emptyLink('acme', `l${number}`), contractsReadAt }));
    await engine.merge({ ...emptyEvidence(), links });
    await convergeDue(engine, tool);
    // The brake does not count who came in within the last hour.
    engine.clock.advance(countedAfterMs);
  }

  const unlink = (number: number) => engine.apply([about('project_link.removed', number)]);

  it('names those whose grace period runs, with its end and the reason, the soonest first', async () => {
    await hire(1, 2, 3, 4, 5, 6, 7);
    expect(await leaving()).toEqual([]);
    await unlink(2);
    engine.clock.advance(5 * minuteMs);
    await unlink(1);
    const found = await leaving();
    expect(found).toMatchObject([
      { trainerId: 't2', state: 'removing', cause: 'link_removed' },
      { trainerId: 't1', state: 'removing', cause: 'link_removed' },
    ]);
    const [first = '', second = ''] = found.map(({ removeAfter }) => removeAfter ?? '');
    expect([engine.clock.now().toISOString() < first, first < second]).toEqual([true, true]);
  });

  it('names last those whose removal waits for a decision about a plan', async () => {
    limitRemovals(engine, { max: 1, maxFraction: 0.01 });
    await hire(1, 2, 3);
    await unlink(1);
    await unlink(2);
    await engine.pass(15 * minuteMs);
    await engine.brake();
    await unlink(3);
    const found = await leaving();
    expect(found.map(({ state }) => state)).toEqual(['removing', 'held', 'held']);
    expect(found.at(0)).toMatchObject({ trainerId: 't3' });
  });

  it('goes page by page, each membership once, also where several leave at the same time', async () => {
    await hire(1, 2, 3, 4, 5, 6);
    const { kysely } = engine.database;
    const [removeAfter, later] = ['2026-03-15T14:05:00.000Z', '2026-03-15T14:06:00.000Z'];
    const set = (trainers: string[], to: { state: 'removing' | 'held'; removeAfter: string | null }) =>
      kysely.updateTable('membership').set(to).where('trainerId', 'in', trainers).execute();
    await set(['t5'], { state: 'removing', removeAfter: null });
    await set(['t2', 't4'], { state: 'removing', removeAfter });
    await set(['t1'], { state: 'removing', removeAfter: later });
    await set(['t3', 't6'], { state: 'held', removeAfter: null });
    const timesOf = async (list: typeof listMemberships | typeof listAccess, limit: number) => {
      const found = await listPages((afterLeaving) => list(kysely, { isLeaving: true, afterLeaving, limit }));
      return { trainers: found.map(({ trainerId }) => trainerId).sort(), times: found.map(sayTime) };
    };
    const trainers = ['t1', 't2', 't3', 't4', 't5', 't6'];
    const times = ['now', removeAfter, removeAfter, later, 'held', 'held'];
    for (const limit of [1, 2, 3, 10]) {
      expect(await timesOf(listMemberships, limit)).toEqual({ trainers, times });
      expect(await timesOf(listAccess, limit)).toEqual({ trainers, times });
    }
  });
});

type Leaving = Pick<ListedMembership, 'id' | 'trainerId' | 'state' | 'removeAfter'>;

async function listPages(list: (after: LeavingKey | undefined) => Promise<Leaving[]>): Promise<Leaving[]> {
  const found: Leaving[] = [];
  for (let page = await list(undefined); page.length > 0; ) {
    found.push(...page);
    const last = page.at(-1);
    page = last === undefined ? [] : await list(leavingKeyOf(last));
  }
  return found;
}

function sayTime({ state, removeAfter }: Leaving): string {
  return state === 'held' ? 'held' : (removeAfter ?? 'now');
}
