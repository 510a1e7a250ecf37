import { expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { emptyContract, emptyEvidence } from '../../../src/domain/evidence.ts';
import { markWorkStale } from '../../../src/memberships/derivation-store.ts';
import { loadDueOf } from '../../../src/usage/due/due-store.ts';
import { keepDecision } from '../../../src/usage/due/held-store.ts';
import { refreshDue } from '../../../src/usage/due/refresh-due.ts';
import { countImport } from '../../../src/usage/import/import-file.ts';
import { planDays } from '../../../src/usage/report/plan-install.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { type OneWorker, openOneWorker } from '../../support/one-worker.ts';
import { prepareLines } from '../import/import-harness.ts';

const by = { actor: 'ada', at: '' };

/** A due minute of work at 10:00, on a contract from 09:00 on. */
async function openWork(open: Promise<Parameters<typeof openOneWorker>[0]>) {
  const world = await openOneWorker(await open, '2026-04-01T09:00:00.000Z');
  const { engine, ctx, trainerId, contractId } = world;
  world.setClock('2026-04-01T10:00:00.000Z');
  world.work('a', 60);
  await world.read();
  await refreshDue(ctx);
  return {
    ...world,
    stale: () => engine.rows('usageStale'),
    async due() {
      await refreshDue(ctx);
      const days = await loadDueOf(engine.database, engine.database.kysely, { trainerIds: [trainerId], fromDay: '' });
      return days.map((one) => `${one.day} ${one.contractId === contractId ? 'first' : 'other'} ${one.counts.seconds}`);
    },
  };
}

describeEachDatabase('what is due', (openFresh) => {
  it.each<[what: string, change: (world: OneWorker) => Promise<unknown>, due: string[], held: string[]]>([
    [
      'a reading with more work',
      async ({ work, read }) => {
        work('b', 30);
        await read();
      },
      ['2026-04-01 first 90'],
      [],
    ],
    [
      'a later start of the contract',
      ({ engine, contractId }) => {
        const startDate = { startDate: '2026-04-01T11:00:00.000Z', startDateVersion: '2026-04-01T12:00:00.000Z' };
        const changed = { ...emptyContract('acme', contractId), ...startDate };
        return engine.merge({ ...emptyEvidence(), contracts: [changed] });
      },
      ['2026-04-01 first 0'],
      ['2026-04-01 60 before_start'],
    ],
    [
      'a second contract of the trainer',
      ({ hireAgain }) => hireAgain('2026-04-01T09:30:00.000Z'),
      ['2026-04-01 first 0', '2026-04-01 other 0'],
      ['2026-04-01 60 several_contracts'],
    ],
    [
      'an import',
      async ({ ctx, contractId }) => {
        const { id } = await prepareLines(ctx, [`2026-04-01,${contractId},500`]);
        await inTransaction(ctx.database, (tx) => markWorkStale(tx, []));
        await countImport(ctx, by, id ?? 0);
      },
      [],
      ['2026-04-01 60 two_sources', '2026-04-01 500 two_sources'],
    ],
    [
      'a decision about all of it',
      ({ ctx, trainerId }) =>
        inTransaction(ctx.database, async (tx) => {
          const work = JSON.stringify(['tool:studio', 'scope', 'studio', 'signs', trainerId, '2026-04-01']);
          await keepDecision(tx, { work, trainerId, reason: 'over_a_day' }, null, '');
          await markWorkStale(tx, [{ trainerId, fromDay: '2026-04-01' }]);
        }),
      [],
      ['2026-04-01 60 over_a_day'],
    ],
  ])('is computed again after %s', async (_what, change, due, held) => {
    const world = await openWork(openFresh());
    expect([await world.due(), await world.held(), await world.stale()]).toEqual([['2026-04-01 first 60'], [], []]);
    await change(world);
    expect([(await world.due()).sort(), (await world.held()).sort(), await world.stale()]).toEqual([
      due,
      held.sort(),
      [],
    ]);
  });

  it('becomes stale in the transaction that changes a source, and not if that is rolled back', async () => {
    const { engine, work, read, stale, hireAgain, end, trainerId, ctx, due } = await openWork(openFresh());
    const marked = [{ trainerId, fromDay: expect.any(String), reopens: false }];
    for (const change of [() => hireAgain(), end]) {
      await change();
      expect(await stale()).toMatchObject(marked);
      await refreshDue(ctx);
    }
    work('b', 30);
    await read();
    expect(await stale()).toMatchObject([{ trainerId, fromDay: '2026-04-01' }]);
    const before = await due();
    const rolledBack = inTransaction(engine.database, async (tx) => {
      await tx.deleteFrom('usageDay').execute();
      await markWorkStale(tx, [{ trainerId, fromDay: '' }]);
      throw new Error('rolled back');
    });
    await expect(rolledBack).rejects.toThrow('rolled back');
    expect([await stale(), await due()]).toEqual([[], before]);
  });

  it('is not sent for a stale trainer, or while their memberships have to be derived again', async () => {
    const { engine, ctx, trainerId } = await openWork(openFresh());
    const { database } = engine;
    const planned = async () => {
      const plans = await Array.fromAsync(planDays(ctx, { install: 'acme' }));
      return plans.flatMap(({ entries }) => entries.map(({ counts }) => counts.seconds));
    };
    expect(await planned()).toEqual([60]);
    await inTransaction(database, (tx) => markWorkStale(tx, [{ trainerId, fromDay: '2026-04-01' }]));
    expect(await planned()).toEqual([]);
    await refreshDue(ctx);
    expect(await planned()).toEqual([60]);
    await database.kysely.insertInto('derivation').values({ install: 'acme', trainerId }).execute();
    await refreshDue(ctx);
    expect(await planned()).toEqual([]);
  });

  it('keeps the earliest day of two marks, and that days are to be reopened', async () => {
    const { engine, trainerId, stale } = await openWork(openFresh());
    const mark = (fromDay: string, reopens: boolean) =>
      inTransaction(engine.database, (tx) => markWorkStale(tx, [{ trainerId, fromDay, reopens }]));
    await mark('2026-04-03', true);
    await mark('2026-04-05', false);
    expect(await stale()).toEqual([{ trainerId, fromDay: '2026-04-03', reopens: true }]);
    await mark('2026-04-01', false);
    expect(await stale()).toEqual([{ trainerId, fromDay: '2026-04-01', reopens: true }]);
  });

  it('is computed again for everyone once after a time zone in the configuration has changed', async () => {
    const { ctx, engine, stale, report, setClock, work, read } = await openWork(openFresh());
    const zoneOf = async () =>
      ((await engine.rows('usageDue')) as { timeZone: string }[]).map(({ timeZone }) => timeZone);
    expect(await zoneOf()).toEqual(['UTC']);
    const timeZone = 'America/New_York';
    const changed = { ...ctx, config: { ...ctx.config, links: new Map([['signs', { timeZone }]]) } };
    await refreshDue(changed);
    expect([await zoneOf(), await stale()]).toEqual([[timeZone], []]);
    await engine.database.kysely.updateTable('usageDue').set({ timeZone: 'untouched' }).execute();
    await refreshDue(changed);
    expect(await zoneOf()).toEqual(['untouched']);
    // The configuration is as it was before.
    await refreshDue(ctx);
    expect(await zoneOf()).toEqual(['UTC']);
    setClock('2026-04-01T11:00:00.000Z');
    work('b', 30);
    await read();
    expect(await report()).toMatchObject({ sent: 1 });
  });

  it('is computed once by several instances at the same time, for more trainers than fit in a transaction', async () => {
    const { ctx, engine, hire, learn, tool, setClock, read, stale } = await openWork(openFresh());
    const people = Array.from({ length: 25 }, () => hire());
    await learn();
    setClock('2026-04-01T11:00:00.000Z');
    const at = engine.clock.now().toISOString();
    for (const { memberId } of people) tool.items.get('signs')?.set(memberId, { memberId, seconds: 60, labels: 1, at });
    await read();
    expect((await stale()).length).toBeGreaterThanOrEqual(25);
    await Promise.all([refreshDue(ctx), refreshDue(ctx), refreshDue(ctx)]);
    expect([await stale(), (await engine.rows('usageDue')).length]).toEqual([[], 26]);
  });

  it('stays in the ledger and is not lowered if nothing of it is seen any more', async () => {
    const { engine, report, reported, trainerId, due } = await openWork(openFresh());
    await report();
    await inTransaction(engine.database, async (tx) => {
      await tx.deleteFrom('usageDay').execute();
      await markWorkStale(tx, [{ trainerId, fromDay: '' }]);
    });
    expect(await due()).toEqual([]);
    expect([await report(), reported()]).toMatchObject([{ outcome: 'clean', sent: 0 }, { '2026-04-01': 60 }]);
  });
});
