import { beforeEach, expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { longestLookMs } from '../../../src/domain/required-readings.ts';
import { instantIn, toInstant } from '../../../src/lib/clock.ts';
import { findInstallState, holdInstalls } from '../../../src/reconcile/read/install-state-store.ts';
import { checkSilence } from '../../../src/reconcile/runs/silence.ts';
import { decidePlanItems } from '../../../src/removals/plan-store.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { inStudio } from '../../support/engine-harness.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import {
  awaitWork,
  createIncident,
  hours,
  type Incident,
  type Listing,
  minutes,
  toApi,
} from '../../support/incident.ts';

const signs = 'street-signs';
const links = { cml1: signs };
const on = (link: string, people = ['cmu1']) => ({ cmc1: { links: [link], people } });
const linkedAgain = { links: { cml2: signs }, active: on('cml2') };
const unlinked: Listing = { links: {}, active: {} };

/** A bridge that starts, sleeps, stops and starts again. */
function watch({ engine }: Incident, names = ['acme']) {
  const installs = new Map(names.map((name) => [name, inStudio()]));
  const ctx = { ...engine, database: { ...engine.database }, installs };
  return { check: (isRestored?: boolean) => checkSilence(ctx, isRestored) };
}

describeEachDatabase('after an outage a reading', (openFresh) => {
  it("that lists none though one is known ends no held removal's wait, and is repeated soon", async () => {
    const incident = createIncident(await openFresh());
    const { clock } = incident.engine;
    await incident.event('contract.started');
    await incident.read({ links, active: on('cml1') });
    clock.advance(2 * hours);
    await holdInstalls(incident.engine, ['acme'], toInstant(clock.now()));
    clock.advance(minutes);
    await incident.read({ links, active: {} });
    expect(await findInstallState(incident.engine, 'acme')).toMatchObject({ heldSince: expect.any(String) });
    expect(await incident.engine.rows('job')).toMatchObject([
      { kind: 'reconcile', dueAt: instantIn(clock, 5 * minutes) },
    ]);
    clock.advance(5 * minutes);
    await incident.read({ links, active: on('cml1') });
    expect(await findInstallState(incident.engine, 'acme')).toMatchObject({ heldSince: null });
    expect(await incident.engine.rows('job')).toEqual([]);
  });
});

describeEachDatabase('a contract that ended before an outage', (openFresh) => {
  let incident: Incident;
  const ended: Listing = { links, active: {}, ended: on('cml1') };

  beforeEach(async () => {
    incident = createIncident(await openFresh());
    await incident.event('contract.started');
    await incident.read({ links, active: on('cml1') });
    incident.engine.clock.advance(minutes);
  });

  async function beAway(): Promise<void> {
    const { clock } = incident.engine;
    clock.advance(2 * hours);
    await holdInstalls(incident.engine, ['acme'], toInstant(clock.now()));
    await incident.pass(hours);
  }

  /** A contract may begin while an install is read. */
  function takingTime(api: ReturnType<typeof toApi>): ReturnType<typeof toApi> {
    return {
      ...api,
      listContracts(filter, signal) {
        incident.engine.clock.advance(minutes);
        return api.listContracts(filter, signal);
      },
    };
  }

  it('reads the install first, then the work, and lists active contracts last', async () => {
    const { engine, tool } = incident;
    awaitWork(incident, signs);
    await incident.take('contract.ended');
    incident.answers(ended);
    await beAway();
    expect(await engine.rows('awaitedScope')).toEqual([]);
    await incident.read(ended);
    expect(await engine.rows('awaitedScope')).toHaveLength(1);
    expect(incident.lists()).toBe(0);
    expect(tool.members(signs)).toEqual(['cmu1']);
    await incident.pass(5 * minutes);
    expect(incident.lists()).toBe(1);
    expect(tool.members(signs)).toEqual([]);
  });

  it.each([1, 2])('lists active contracts again if %i outages came during the wait for a list', async (outages) => {
    incident.answers();
    await incident.event('contract.ended');
    await beAway();
    for (let more = 1; more < outages; more += 1) {
      await incident.readFrom(takingTime(toApi(ended)));
      await beAway();
    }
    incident.answers({ links, active: { cmc2: { links: ['cml1'], people: ['cmu1'] } } });
    await incident.readFrom(takingTime(toApi(ended)));
    await incident.pass(hours);
    expect(incident.tool.members(signs)).toEqual(['cmu1']);
    expect(incident.removals()).toEqual([]);
  });
});

describeEachDatabase('a link that was removed before an outage', (openFresh) => {
  let incident: Incident;

  beforeEach(async () => {
    incident = createIncident(await openFresh());
    await watch(incident).check();
    await incident.event('contract.started');
    await incident.read({ links, active: on('cml1') });
  });

  const members = () => incident.tool.members(signs);

  async function beAway(ms: number): Promise<void> {
    const { clock } = incident.engine;
    clock.advance(ms);
    await watch(incident).check();
    await incident.settle();
    clock.advance(1000);
  }

  it.each([20, 59])('and made again within its %i minutes removes no trainer', async (awayMinutes) => {
    await incident.take('project_link.removed');
    await beAway(awayMinutes * minutes);
    expect(members()).toEqual(['cmu1']);
    await incident.read(linkedAgain);
    await incident.pass(hours);
    expect(members()).toEqual(['cmu1']);
    expect(incident.removals()).toEqual([]);
  });

  it('shorter than the grace period that ends after it, removes no trainer either', async () => {
    await incident.take('project_link.removed');
    await beAway(14 * minutes);
    await incident.pass(2 * minutes);
    await incident.read(linkedAgain);
    expect(incident.removals()).toEqual([]);
  });

  it('removes all trainers once a reading confirms it', async () => {
    await incident.take('project_link.removed');
    await beAway(20 * minutes);
    await incident.read(unlinked);
    expect(members()).toEqual([]);
  });

  it('removes them after a day if the install cannot be read, however often it pauses', async () => {
    await incident.take('project_link.removed');
    await beAway(20 * minutes);
    for (let away = 0; away < 23; away += 1) await beAway(hours);
    expect(members()).toEqual(['cmu1']);
    await incident.pass(hours);
    expect(members()).toEqual([]);
  });

  it('and stored, but taken in after it, removes no trainer', async () => {
    const { engine } = incident;
    const createdAt = toInstant(engine.clock.now());
    await engine.deliver([fullEvent({ type: 'project_link.removed', createdAt })]);
    engine.clock.advance(20 * minutes);
    await watch(incident).check();
    await engine.takeIn();
    await incident.settle();
    expect(members()).toEqual(['cmu1']);
    await incident.read(linkedAgain);
    expect(incident.removals()).toEqual([]);
  });

  it('removes no trainer whose cleared removal had not begun', async () => {
    await incident.take('project_link.removed');
    incident.engine.clock.advance(15 * minutes);
    await incident.engine.brake();
    expect(await incident.engine.rows('removal')).toHaveLength(1);
    await beAway(20 * minutes);
    expect(members()).toEqual(['cmu1']);
    await incident.read(linkedAgain);
    expect(incident.removals()).toEqual([]);
    expect(await incident.engine.rows('removal')).toEqual([]);
  });

  it('removes the trainer whose removal an operator had approved, after the reading and without another approval', async () => {
    const { engine } = incident;
    await incident.event('contract.started', { contract: 'cmc2', trainer: 'cmu2' });
    await incident.take('project_link.removed');
    await incident.pass(15 * minutes);
    expect(await incident.plans()).toEqual([2]);
    const now = toInstant(engine.clock.now());
    await inTransaction(engine.database, (tx) => decidePlanItems(engine, tx, 1, 'approved', now));
    await beAway(20 * minutes);
    expect(members()).toEqual(['cmu1', 'cmu2']);
    await incident.read(unlinked);
    expect(members()).toEqual([]);
    expect(await incident.plans()).toEqual([2]);
  });

  it('of a minute is not waited for', async () => {
    await incident.take('project_link.removed');
    for (let minute = 0; minute < 14; minute += 1) await beAway(minutes - 1000);
    await beAway(minutes);
    expect(members()).toEqual([]);
  });

  it('keeps no trainer whose contract had ended, and delays no later delivery', async () => {
    await incident.take('contract.ended');
    await beAway(20 * minutes);
    expect(members()).toEqual([]);
    await incident.event('contract.started', { contract: 'cmc2', trainer: 'cmu2' });
    expect(members()).toEqual(['cmu2']);
    await incident.take('project_link.removed');
    await incident.pass(14 * minutes);
    expect(members()).toEqual(['cmu2']);
    await incident.pass(2 * minutes);
    expect(members()).toEqual([]);
  });
});

describeEachDatabase('two customers in one project, one of them not readable', (openFresh) => {
  let incident: Incident;

  beforeEach(async () => {
    incident = createIncident(await openFresh(), {
      installs: new Map(['acme', 'globex'].map((name) => [name, inStudio()])),
    });
    await watch(incident, ['acme', 'globex']).check();
    await incident.event('contract.started');
  });

  const members = () => incident.tool.members(signs);
  const hiredByGlobex: Listing = {
    grant: 'g',
    links: { gl1: signs },
    active: { g1: { links: ['gl1'], people: ['cmu1'] } },
  };

  /** Of a backup, or after hours in which no instance ran. */
  async function restore(): Promise<void> {
    incident.engine.clock.advance(5 * minutes);
    await watch(incident, ['acme', 'globex']).check(true);
    incident.engine.clock.advance(1000);
  }

  it('keep a trainer whose contract with the other has ended, until both have been read', async () => {
    await restore();
    await incident.read({ links, active: {}, ended: on('cml1') });
    expect(members()).toEqual(['cmu1']);
    await incident.pass(hours);
    await incident.read(hiredByGlobex, 'globex');
    await incident.pass(48 * hours);
    expect(members()).toEqual(['cmu1']);
    expect(incident.removals()).toEqual([]);
  });

  it('remove the trainer once both have been read, or after a day', async () => {
    await restore();
    await incident.read({ links, active: {}, ended: on('cml1') });
    await incident.event('contract.started', { contract: 'cmc2', trainer: 'cmu2' });
    await incident.pass(23 * hours);
    expect(members()).toEqual(['cmu1', 'cmu2']);
    await incident.pass(hours);
    // Lists are waited for last, as long as that may be.
    await incident.pass(longestLookMs);
    expect(members()).toEqual(['cmu2']);
  });

  it('keep the trainer also if both had been a reason', async () => {
    await incident.event('contract.started', { contract: 'g0', link: 'gl1' }, 'globex');
    await incident.event('contract.ended', { contract: 'g0', link: 'gl1' }, 'globex');
    await restore();
    await incident.read({ links, active: {}, ended: on('cml1') });
    expect(members()).toEqual(['cmu1']);
    await incident.read(hiredByGlobex, 'globex');
    expect(incident.removals()).toEqual([]);
  });

  it('keep the trainer on newer weak evidence too', async () => {
    await restore();
    await incident.read({ links, active: on('cml1') });
    await incident.take('project_link.removed');
    await incident.pass(16 * minutes);
    expect(members()).toEqual(['cmu1']);
    await incident.read(hiredByGlobex, 'globex');
    expect(incident.removals()).toEqual([]);
  });

  it('remove within half a minute a trainer whose end is delivered since', async () => {
    await restore();
    await incident.event('contract.ended');
    await incident.pass(29_000);
    expect(members()).toEqual(['cmu1']);
    await incident.pass(1000);
    expect(members()).toEqual([]);
  });
});

describeEachDatabase('a trainer who was removed after the backup that was restored', (openFresh) => {
  it.each([
    ['which an operator says', minutes, true],
    ['which no operator says and two hours of silence show', 2 * hours, false],
  ])('is in again, although the tool cannot list its members: %s', async (_, awayMs, isRestored) => {
    const incident = createIncident(await openFresh());
    await watch(incident).check();
    await incident.event('contract.started');
    incident.tool.unseat(signs, 'cmu1');
    await incident.pass(awayMs);
    await watch(incident).check(isRestored);
    await incident.pass(minutes);
    expect(incident.tool.members(signs)).toEqual([]);
    await incident.read({ links, active: on('cml1') });
    expect(incident.tool.members(signs)).toEqual(['cmu1']);
  });
});

describeEachDatabase(
  'a trainer who was added after the backup that was restored, and whose contract has ended',
  (openFresh) => {
    it.each([
      ['is taken out where the domain of the address says that they are ours', ['opentrain.work'], []],
      ['is left in and counts as there before us where nothing says so', [], ['cmu1']],
    ])('%s', async (_, managedDomains, left) => {
      const incident = createIncident(await openFresh(), { managedDomains });
      await watch(incident).check();
      // The backup has them waiting to be added.
      await incident.take('contract.started');
      incident.tool.seed(signs, 'cmu1', 'cmu1@opentrain.work');
      await watch(incident).check(true);
      incident.engine.clock.advance(minutes);
      await incident.read({ links, active: {}, ended: on('cml1') });
      await incident.pass(2 * hours);
      expect(incident.tool.members(signs)).toEqual(left);
      expect(await incident.states()).toEqual({ 'street-signs/cmu1': left.length === 0 ? 'removed' : 'released' });
    });

    it.each([
      ['is taken out where the end comes before the backup is noticed', 'pending'],
      ['is taken out where they had been refused, and the end comes before the backup is noticed', 'failed'],
    ] as const)('%s', async (_, state) => {
      const incident = createIncident(await openFresh(), { managedDomains: ['opentrain.work'] });
      await watch(incident).check();
      await incident.take('contract.started');
      const { kysely } = incident.engine.database;
      await kysely.updateTable('membership').set({ state }).execute();
      incident.tool.seed(signs, 'cmu1', 'cmu1@opentrain.work');
      await incident.take('contract.ended');
      await watch(incident).check(true);
      incident.engine.clock.advance(minutes);
      await incident.read({ links, active: {}, ended: on('cml1') });
      await incident.pass(minutes);
      expect(incident.tool.members(signs)).toEqual([]);
      expect(await incident.states()).toEqual({ 'street-signs/cmu1': 'removed' });
    });
  },
);
