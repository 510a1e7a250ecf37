import { expect, it } from 'vitest';
import { decideHeld } from '../../../src/usage/due/decide-held.ts';
import { listHeld } from '../../../src/usage/due/held-store.ts';
import { listFallenTotals } from '../../../src/usage/read/total-store.ts';
import { toolObservations } from '../../../src/usage/read/work-store.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { startLoops } from '../../support/engine-harness.ts';
import { until } from '../../support/until.ts';
import { createWorkReader, openUsageWorld } from '../../support/usage-harness.ts';

const [trainerId, memberId] = ['ada', 'mada'];
const minuteMs = 60_000;

describeEachDatabase('a total that is seen for the first time', (openFresh) => {
  async function openTotals() {
    const world = await openUsageWorld(await openFresh());
    const { engine, tool, sandbox, jobId } = world;
    const { kysely } = engine.database;
    await world.link('signs');
    // Another trainer, so that the work scope is read.
    world.hire();
    await world.learn();
    const show = async (tasks: number) => {
      tool.totals.set(memberId, tasks);
      engine.clock.advance(minuteMs);
      await world.read();
    };
    const hire = async (id = trainerId, onJob = jobId) => {
      engine.clock.advance(minuteMs);
      const { contractId } = sandbox.hire({ jobId: onJob, trainers: [{ opentrainUserId: id }] });
      await world.learn();
      return contractId;
    };
    /** Due and held work. */
    async function observed(scope = 'signs') {
      const span = { trainerIds: [trainerId], fromDay: '' };
      const all = (await toolObservations(engine.database, kysely, span)).filter(
        ({ workedOn }) => workedOn.by === 'scope' && workedOn.scope === scope,
      );
      const sum = (isFirst: boolean) =>
        all
          .filter((one) => (one.isFirstTotal ?? false) === isFirst)
          .reduce((n, { counts }) => n + (counts.tasks ?? 0), 0);
      return { counted: sum(false), held: sum(true) };
    }
    return { ...world, kysely, show, hire, observed };
  }

  it('counts from where it was when the contract began', async () => {
    const { show, hire, observed, kysely, engine } = await openTotals();
    await show(480);
    await show(500);
    expect(await engine.rows('usageDay')).toEqual([]);
    await hire();
    await show(507);
    expect(await observed()).toEqual({ counted: 7, held: 0 });
    await show(509);
    expect(await observed()).toEqual({ counted: 9, held: 0 });
    expect(await kysely.selectFrom('usagePerson').select('trainerId').execute()).toEqual([{ trainerId }]);
  });

  it('counts from there too if it was read again before the account was known to be theirs', async () => {
    const { show, observed, sandbox, jobId, learn, engine } = await openTotals();
    await show(500);
    engine.clock.advance(minuteMs);
    sandbox.hire({ jobId, trainers: [{ opentrainUserId: trainerId }] });
    await show(505);
    await learn();
    await show(507);
    expect(await observed()).toEqual({ counted: 7, held: 0 });
  });

  it('counts from there if the tool did not list the account for a while', async () => {
    const { show, hire, observed, tool, read, engine } = await openTotals();
    await show(500);
    await hire();
    tool.totals.delete(memberId);
    engine.clock.advance(minuteMs);
    await read(true);
    await show(507);
    expect(await observed()).toEqual({ counted: 7, held: 0 });
  });

  it('counts from where it was when the contract in that work scope began, whatever began elsewhere', async () => {
    const { show, hire, observed, link, openJob } = await openTotals();
    const otherJob = openJob();
    await link('lamps', otherJob);
    await hire(trainerId, otherJob);
    await show(500);
    await hire();
    await show(507);
    expect([await observed('signs'), await observed('lamps')]).toEqual([
      { counted: 7, held: 0 },
      { counted: 7, held: 500 },
    ]);
  });

  it('makes the day of the first reading stale if it is held from then on', async () => {
    const { show, observed, sandbox, jobId, learn, engine, kysely } = await openTotals();
    sandbox.hire({ jobId, trainers: [{ opentrainUserId: trainerId }] });
    await show(500);
    engine.clock.advance(24 * 60 * minuteMs);
    await learn();
    await kysely.deleteFrom('usageStale').execute();
    await show(503);
    expect(await observed()).toEqual({ counted: 3, held: 500 });
    expect(await engine.rows('usageStale')).toMatchObject([{ trainerId, fromDay: '2026-03-15' }]);
  });

  it('is held if no reading is from before the contract, and later work counts', async () => {
    const { show, hire, observed, engine, kysely } = await openTotals();
    await hire();
    await kysely.deleteFrom('usageStale').execute();
    await show(500);
    expect(await observed()).toEqual({ counted: 0, held: 500 });
    const [first] = (await toolObservations(engine.database, kysely, { trainerIds: [trainerId], fromDay: '' })).filter(
      (one) => one.isFirstTotal,
    );
    const workedOn = { by: 'scope', tool: 'studio', scope: 'signs' };
    const seenAt = engine.clock.now().toISOString();
    expect(first).toMatchObject({ source: 'tool:studio', workedOn, trainerId, memberId, day: '2026-03-15', seenAt });
    expect(await toolObservations(engine.database, kysely, { trainerIds: [trainerId], fromDay: '2026-03-16' })).toEqual(
      [],
    );
    expect(await engine.rows('usageStale')).toMatchObject([{ trainerId, fromDay: '2026-03-15' }]);
    await show(503);
    expect(await observed()).toEqual({ counted: 3, held: 500 });
  });

  it.each([
    ['is sent if an operator assigns it', true, { sent: 1, held: 0 }],
    ['is never sent if an operator discards it', false, { outcome: 'clean', held: 0 }],
  ])('%s', async (_what, isTheirs, outcome) => {
    const { show, hire, report, consumed, ctx, engine } = await openTotals();
    const contractId = await hire();
    await show(500);
    expect(await report()).toMatchObject({ outcome: 'held', sent: 0, held: 1 });
    engine.clock.advance(20 * 24 * 60 * minuteMs);
    await show(512);
    expect(await report()).toMatchObject({ sent: 1, held: 1 });
    expect(consumed(contractId).tasks).toBe(12);
    const [held] = await listHeld(ctx);
    await decideHeld(ctx, { actor: 'ada', at: '' }, held?.id ?? '', isTheirs ? contractId : null);
    expect(await report()).toMatchObject(outcome);
    const before = isTheirs ? 500 : 0;
    expect(consumed(contractId).tasks).toBe(before + 12);
    const state = isTheirs ? 'assigned' : 'discarded';
    expect(await listHeld(ctx)).toMatchObject([{ counts: { tasks: 500 }, reason: 'first_total', state }]);
    await show(513);
    expect(await report()).toMatchObject({ sent: 1 });
    expect(consumed(contractId).tasks).toBe(before + 13);
  });

  it('is not held if it is zero', async () => {
    const { show, hire, observed } = await openTotals();
    await hire();
    await show(0);
    await show(4);
    expect(await observed()).toEqual({ counted: 4, held: 0 });
  });

  it('counts in full if Gangway made the account after the hire, and not if it did before', async () => {
    const { show, hire, observed, kysely, engine } = await openTotals();
    async function makeAccount(before: number) {
      const createdAt = new Date(engine.clock.now().getTime() - before).toISOString();
      await kysely
        .insertInto('account')
        .values({ tool: 'studio', accountId: memberId, isOurs: true, seenAt: createdAt, trainerId })
        .execute();
      const { id } = await kysely
        .selectFrom('membership')
        .select('id')
        .where('memberId', '=', memberId)
        .executeTakeFirstOrThrow();
      const receipt = { membershipId: id, generation: 1, operation: 'add', outcome: 'added', createdAt } as const;
      await kysely.insertInto('receipt').values(receipt).execute();
    }
    await hire();
    await makeAccount(0);
    await show(12);
    expect(await observed()).toEqual({ counted: 12, held: 0 });
    await kysely.deleteFrom('usagePerson').execute();
    await kysely.updateTable('receipt').set({ createdAt: '2026-03-15T11:00:00.000Z' }).execute();
    await show(12);
    expect(await observed()).toMatchObject({ held: 12 });
  });

  it('is not forgotten if it becomes unclear whose account it is', async () => {
    const { show, hire, observed, kysely } = await openTotals();
    await show(500);
    await hire();
    await show(507);
    await hire('ben');
    await kysely.updateTable('membership').set({ memberId }).where('trainerId', '=', 'ben').execute();
    await show(520);
    expect(await observed()).toEqual({ counted: 7, held: 0 });
    expect(await kysely.selectFrom('usageScope').select('failure').execute()).toEqual([{ failure: null }]);
    await kysely.updateTable('membership').set({ memberId: 'mben' }).where('trainerId', '=', 'ben').execute();
    await show(521);
    expect(await observed()).toEqual({ counted: 21, held: 0 });
  });

  it('of an account without a trainer is neither a fallen total nor work', async () => {
    const { show, engine, kysely } = await openTotals();
    await kysely.deleteFrom('usageStale').execute();
    for (const tasks of [500, 400, 400]) await show(tasks);
    expect(await listFallenTotals(engine)).toEqual([]);
    const rows = await kysely.selectFrom('usagePerson').selectAll().execute();
    expect(rows).toMatchObject([{ trainerId: '', fallenSince: null }]);
    expect(JSON.parse(rows[0]?.totals ?? '')).toMatchObject([{ counts: { tasks: 500 } }, { counts: { tasks: 400 } }]);
    expect([await engine.rows('usageDay'), await engine.rows('usageStale')]).toEqual([[], []]);
  });

  it('is read as soon as a member has come in, once', async () => {
    const { show, hire, tool, ctx, engine } = await openTotals();
    await show(1);
    tool.totals.set('another', 3);
    await show(1);
    await engine.database.kysely.deleteFrom('usagePerson').where('memberId', '=', memberId).execute();
    tool.totals.delete(memberId);
    startLoops(createWorkReader(ctx));
    const requests = async (count: number) => {
      engine.clock.advance(2 * minuteMs);
      await until(
        `there are ${count} readings`,
        () => tool.requests.length,
        (seen) => seen >= count,
      );
      expect(tool.requests).toHaveLength(count);
    };
    const before = tool.requests.length;
    // The trainer who was there before has no total yet.
    await requests(before + 1);
    await hire('ada');
    await requests(before + 2);
    await hire('ben');
    await requests(before + 3);
  });
});
