import { beforeEach, expect, it } from 'vitest';
import type { Row } from '../../src/db/schema.ts';
import type { RouteLink } from '../../src/domain/install.ts';
import { toInstant } from '../../src/lib/clock.ts';
import { listOrphans, retireOrphans } from '../../src/memberships/orphan-store.ts';
import { adoptMember, releaseMember } from '../../src/memberships/ownership-store.ts';
import { listPlanItems } from '../../src/removals/plan-store.ts';
import { claimDue, converge, convergeDue } from '../support/converging.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { createEngine, type Engine, limitRemovals } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createMemoryTool, type MemoryTool } from '../support/memory-tool.ts';

const started = fullEvent({ type: 'contract.started', id: '1' });
const ended = fullEvent({ type: 'contract.ended', id: '2' });
const unlinked = fullEvent({ type: 'project_link.removed', id: '3' });

describeEachDatabase('whose a member is', (openFresh) => {
  let engine: Engine;
  let tool: MemoryTool;
  let routes: (project: string | null) => string | undefined;

  const routeLink: RouteLink = ({ externalProjectId }) => {
    const groupId = routes(externalProjectId);
    return groupId === undefined ? undefined : { tool: 'studio', groupId };
  };

  beforeEach(async () => {
    routes = (project) => project ?? undefined;
    engine = createEngine(await openFresh(), { routeLink });
    tool = createMemoryTool();
  });

  const by = () => ({ actor: 'ada', at: toInstant(engine.clock.now()) });
  const adopt = (id = 1) => adoptMember(engine, id, by());
  const release = (id = 1, domains: string[] = []) => releaseMember(engine, id, domains, by());
  const retire = async (...tools: string[]) =>
    await retireOrphans(engine, await listOrphans(engine, {}), new Set(tools), by());
  const one = async () => (await engine.membershipRows())[0];
  const audited = async () =>
    (await engine.rows('audit')).map((row) => {
      const { actor, action, subject } = row as { actor: string; action: string; subject: string };
      return `${actor}: ${action} ${subject}`;
    });

  /** A trainer who was in the tool before us. */
  async function findStranger(): Promise<void> {
    tool.seed('street-signs', 'cmu1');
    await engine.apply([started]);
    await convergeDue(engine, tool);
    expect(await one()).toMatchObject({ state: 'active', isOurs: false });
  }

  async function addOne(): Promise<void> {
    await engine.apply([started]);
    await convergeDue(engine, tool);
    expect(await one()).toMatchObject({ state: 'active', isOurs: true });
  }

  async function orphanAll(): Promise<void> {
    routes = () => undefined;
    await engine.database.kysely
      .insertInto('derivation')
      .columns(['trainerId'])
      .expression(engine.database.kysely.selectFrom('membership').select('trainerId').distinct())
      .execute();
    await engine.takeIn();
    const states = (await engine.membershipRows()).map(({ state }) => state);
    expect(new Set(states)).toEqual(new Set(['orphaned']));
  }

  it('is ours once adopted, and is removed like any other', async () => {
    await findStranger();
    expect(await adopt()).toBe('kept');
    expect(await convergeDue(engine, tool)).toEqual([]);
    await engine.apply([ended]);
    expect(await convergeDue(engine, tool)).toEqual(['remove removed']);
    expect(await audited()).toEqual(['ada: members adopt membership 1']);
  });

  it('is removed at once when adopted after the last contract ended', async () => {
    await findStranger();
    await engine.apply([ended]);
    expect(await convergeDue(engine, tool)).toEqual(['remove released']);
    expect(await adopt()).toBe('removing');
    expect(await one()).toMatchObject({ state: 'removing', cause: 'retired' });
    expect(await convergeDue(engine, tool)).toEqual(['remove removed']);
    expect(tool.members('street-signs')).toEqual([]);
  });

  it('goes to the brake again if it was cleared as not ours before the adoption', async () => {
    await findStranger();
    await engine.apply([unlinked]);
    await engine.takeIn();
    await engine.pass(15 * 60_000);
    expect(await engine.rows('removal')).toMatchObject([{ clearance: 'not_ours' }]);
    expect(await adopt()).toBe('removing');
    expect(await claimDue(engine)).toEqual([]);
    await engine.brake();
    expect(await engine.rows('removal')).toMatchObject([
      { clearance: 'not_ours' },
      { clearance: 'braked', cause: 'link_removed' },
    ]);
  });

  it('stays once released, when the contract ends', async () => {
    await addOne();
    await release();
    await engine.apply([ended]);
    expect(await convergeDue(engine, tool)).toEqual(['remove released']);
    expect(tool.members('street-signs')).toEqual(['cmu1']);
    expect(await audited()).toEqual(['ada: members release membership 1']);
  });

  it('stays once released, even if the removal waits or is held', async () => {
    await addOne();
    await engine.apply([unlinked]);
    await engine.takeIn();
    expect(await one()).toMatchObject({ state: 'removing' });
    await release();
    expect(await one()).toMatchObject({ state: 'released', removeAfter: null, cause: null });
    await engine.pass(15 * 60_000);
    expect(await convergeDue(engine, tool)).toEqual([]);
    expect(tool.members('street-signs')).toEqual(['cmu1']);
  });

  it('does not count for the brake if released after the removal was cleared', async () => {
    await addOne();
    await engine.apply([unlinked]);
    await engine.takeIn();
    await engine.pass(15 * 60_000);
    expect(await engine.rows('removal')).toMatchObject([{ clearance: 'braked' }]);
    await release();
    expect(await engine.rows('removal')).toEqual([]);
    expect(await convergeDue(engine, tool)).toEqual([]);
  });

  it('makes the plan stale that holds the removal', async () => {
    limitRemovals(engine, { max: 0 });
    await addOne();
    await engine.apply([unlinked]);
    await engine.takeIn();
    await engine.pass(15 * 60_000);
    expect(await one()).toMatchObject({ state: 'held' });
    await release();
    expect(await listPlanItems(engine, 1)).toMatchObject([{ isStale: true }]);
  });

  it('is not overwritten by a call that was under way', async () => {
    await addOne();
    await engine.database.kysely.updateTable('membership').set({ nextAttemptAt: by().at }).execute();
    const [claim] = await claimDue(engine);
    await release();
    if (claim !== undefined) await converge(engine, tool, claim);
    await convergeDue(engine, tool);
    expect(await one()).toMatchObject({ isOurs: false, state: 'active' });
  });

  it('is decided only for a trainer who is in the tool', async () => {
    const conflict = (message: string) => ({ code: 'conflict', message });
    await expect(adopt(9)).rejects.toMatchObject({ code: 'not_found' });
    await expect(release(9)).rejects.toThrow('There is no membership 9');
    await engine.apply([started]);
    const pending = conflict('Membership 1 is pending, and no member of it is known in the tool');
    await expect(adopt()).rejects.toMatchObject(pending);
    await expect(release()).rejects.toMatchObject(pending);
    await convergeDue(engine, tool);
    await expect(adopt()).rejects.toMatchObject(conflict('Gangway already manages membership 1'));
    await release();
    await expect(release()).rejects.toMatchObject(
      conflict('Gangway does not manage membership 1, so there is nothing to release'),
    );
    await adopt();
    await engine.apply([ended]);
    await convergeDue(engine, tool);
    await expect(adopt()).rejects.toThrow('Membership 1 is removed');
    expect(await audited()).toHaveLength(2);
  });

  it('with an address of a managed domain is always ours', async () => {
    await addOne();
    await expect(release(1, ['opentrain.work'])).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/opentrain\.work.+To keep the account, add it to tools\.studio\.protected/),
    });
    await release(1, ['lab.example']);
  });

  it('is not decided for a protected account', async () => {
    tool.seed('street-signs', 'cmu1');
    await engine.apply([started]);
    await convergeDue(engine, tool, { protectedAccounts: ['cmu1'] });
    expect(await one()).toMatchObject({ state: 'released', wanted: true });
    await expect(adopt()).rejects.toThrow('Remove it from tools.studio.protected first');
  });

  it('retired, a member leaves a configured tool, and the brake does not count that', async () => {
    limitRemovals(engine, { max: 0 });
    await addOne();
    await orphanAll();
    expect(await retire('studio')).toEqual({ removing: 1, released: 0, kept: 0 });
    expect(await convergeDue(engine, tool)).toEqual(['remove removed']);
    expect(await engine.rows('removal')).toMatchObject([{ cause: 'retired', clearance: 'approved' }]);
    expect(await audited()).toEqual(['ada: retire membership 1']);
  });

  it('retired under an old name of the same server, a member with an active contract was removed', async () => {
    await addOne();
    const { kysely } = engine.database;
    const { id: _, ...row } = (await engine.membershipRows())[0] as Row<'membership'>;
    await kysely
      .insertInto('membership')
      .values({ ...row, tool: 'old', state: 'orphaned' })
      .execute();
    const server = { identity: null, location: 'tool.example' };
    await kysely
      .insertInto('toolBinding')
      .values([
        { tool: 'old', ...server },
        { tool: 'studio', ...server },
      ])
      .execute();
    expect(await listOrphans(engine, {})).toMatchObject([{ tool: 'old', wantedBy: 1 }]);
    expect(await retire('old', 'studio')).toEqual({ removing: 0, released: 0, kept: 1 });
    expect((await engine.membershipRows()).map(({ state }) => state)).toEqual(['active', 'orphaned']);
  });

  it('retired, a member who was not ours stays', async () => {
    await findStranger();
    await orphanAll();
    await retire('studio');
    expect(await convergeDue(engine, tool)).toEqual(['remove released']);
    expect(tool.members('street-signs')).toEqual(['cmu1']);
  });

  it('retired from a tool that is not configured, a member is released', async () => {
    await addOne();
    await orphanAll();
    expect(await retire('other')).toEqual({ removing: 0, released: 1, kept: 0 });
    expect(await one()).toMatchObject({ state: 'released', isOurs: false, wanted: false });
    expect(await convergeDue(engine, tool)).toEqual([]);
  });

  it.each([['studio'], ['other']])(
    'retired where %s is configured, a member stays so, whatever is derived in between',
    async (configured) => {
      await addOne();
      await orphanAll();
      await retire(configured);
      const before = await one();
      await engine.apply([fullEvent({ type: 'contract.started', contract: 'cmc2', id: '4' })]);
      await engine.apply([ended]);
      expect(await one()).toEqual(before);
      expect(await retire(configured)).toEqual({ removing: 0, released: 0, kept: 0 });
    },
  );

  it.each([
    ['studio', 'add already_member', true],
    ['other', 'add already_member', false],
  ])(
    'retired where %s is configured, is taken back when the configuration leads there again',
    async (configured, outcome, isOurs) => {
      await addOne();
      await orphanAll();
      await retire(configured);
      routes = (project) => project ?? undefined;
      await engine.apply([fullEvent({ type: 'contract.started', contract: 'cmc2', id: '4' })]);
      expect(await convergeDue(engine, tool)).toEqual([outcome]);
      expect(await one()).toMatchObject({ state: 'active', wanted: true, cause: null, isOurs });
    },
  );

  it('retired and removed, is added again when the configuration routes there again', async () => {
    await addOne();
    await orphanAll();
    await retire('studio');
    await convergeDue(engine, tool);
    routes = (project) => project ?? undefined;
    await engine.apply([fullEvent({ type: 'contract.started', contract: 'cmc2', id: '4' })]);
    expect(await convergeDue(engine, tool)).toEqual(['add added']);
  });

  it('is not retired by an outdated list', async () => {
    await addOne();
    await orphanAll();
    const listed = await listOrphans(engine, {});
    routes = (project) => project ?? undefined;
    await engine.apply([fullEvent({ type: 'contract.started', contract: 'cmc2', id: '4' })]);
    expect(await retireOrphans(engine, listed, new Set(['studio']), by())).toEqual({
      removing: 0,
      released: 0,
      kept: 0,
    });
    expect(await audited()).toEqual([]);
  });

  it('lists the orphans of an install, or of a tool', async () => {
    await engine.apply([started]);
    const lamps = { contract: 'cmc2', trainer: 'cmu2', link: 'cml2', project: 'lamps' };
    await engine.apply([fullEvent({ type: 'contract.started', ...lamps })], 'globex');
    await convergeDue(engine, tool);
    expect(await listOrphans(engine, {})).toEqual([]);
    await orphanAll();
    const seat = { tool: 'studio', groupId: 'lamps', trainerId: 'cmu2', displayName: 'Amara O.', wantedBy: null };
    expect(await listOrphans(engine, { install: 'globex' })).toEqual([{ id: 2, install: 'globex', ...seat }]);
    expect(await listOrphans(engine, { tool: 'studio' })).toHaveLength(2);
    expect(await listOrphans(engine, { tool: 'other' })).toEqual([]);
  });
});
