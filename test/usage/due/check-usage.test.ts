import { expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { markWorkStale } from '../../../src/memberships/derivation-store.ts';
import {
  type CheckedDay,
  type CheckSum,
  checkUsage,
  isOpenDifference,
  sumChecked,
  whyLong,
} from '../../../src/usage/due/check-usage.ts';
import { countImport } from '../../../src/usage/import/import-file.ts';
import { openOneWorker } from '../../support/one-worker.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { prepareLines } from '../import/import-harness.ts';

describeAnyDatabase('a check', (openFresh) => {
  async function openWork(options: Parameters<typeof openOneWorker>[2] = {}) {
    const world = await openOneWorker(await openFresh(), '2026-04-01T09:00:00.000Z', options);
    const { ctx } = world;
    world.setClock('2026-04-01T10:00:00.000Z');
    const check = async (wanted: Partial<Parameters<typeof checkUsage>[1]> = {}): Promise<CheckedDay[]> =>
      await Array.fromAsync(checkUsage(ctx, { installs: ['acme'], ...wanted }));
    return {
      ...world,
      check,
      /** For each day: what was seen, what was answered, and why they differ. */
      rows: async () =>
        (await check()).map(
          (one) =>
            `${one.day} ${one.seen.seconds} ${one.answered.seconds} ${one.why}${isOpenDifference(one) ? '!' : ''}`,
        ),
      async sum() {
        const sums = new Map<string, CheckSum>();
        for (const one of await check()) sumChecked(sums, one);
        return [...sums.values()];
      },
    };
  }

  it('says why a day differs, from the first reading to the last decision', async () => {
    const { work, edit, read, report, rows, setClock, fates, engine, sandbox, contractId, trainerId } =
      await openWork();
    const day = '2026-04-01';
    expect(await rows()).toEqual([]);
    work('a', 3000);
    await read();
    expect(await rows()).toEqual([`${day} 3000 null not_sent!`]);
    fates.push('lost');
    await report();
    expect(await rows()).toEqual([`${day} 3000 null in_doubt!`]);
    engine.clock.advance(11 * 60_000);
    await report();
    engine.clock.advance(11 * 60_000);
    await report();
    expect(await rows()).toEqual([`${day} 3000 3000 null`]);
    edit('a', 90_000);
    await read();
    expect(await rows()).toEqual([`${day} 90000 3000 held!`]);
    edit('a', 3100);
    await read(true);
    sandbox.replaceParticipant(contractId, { leaves: trainerId });
    await report();
    expect(await rows()).toEqual([`${day} 3100 3000 refused!`]);
    await inTransaction(engine.database, async (tx) => {
      await tx.deleteFrom('usageDay').execute();
      await tx.updateTable('usageLedger').set({ state: 'answered' }).execute();
      await markWorkStale(tx, [{ trainerId, fromDay: '' }]);
    });
    expect(await rows()).toEqual([`${day} null 3000 unseen!`]);
    setClock('2026-06-01T10:00:00.000Z');
    expect(await rows()).toEqual([`${day} null 3000 unseen!`]);
  });

  it('names a paid count that no source has any more, beside correct counts', async () => {
    const { ctx, trainerId, report, rows, check } = await openWork();
    const header = 'workDate,externalProjectId,opentrainUserId,totalSeconds';
    const { id } = await prepareLines(ctx, [`2026-04-01,signs,${trainerId},3600`], { header });
    await countImport(ctx, { actor: 'ada', at: '' }, id ?? 0);
    await report();
    await ctx.database.kysely.updateTable('usageLedger').set({ tasks: 18 }).execute();
    expect(await rows()).toEqual(['2026-04-01 3600 3600 unseen!']);
    expect(await check()).toMatchObject([{ difference: { seconds: 0, tasks: -18 } }]);
  });

  it('names a day that has not begun in UTC, which needs no operator', async () => {
    const { setClock, work, read, rows } = await openWork({ timeZone: 'Pacific/Kiritimati' });
    setClock('2026-04-01T12:00:00.000Z');
    work('a', 60);
    await read();
    expect(await rows()).toEqual(['2026-04-02 60 null not_begun']);
  });

  it('names a held lowering with the overpaid amount, and as not sent after more work has raised it', async () => {
    const { tool, work, read, report, check, rows } = await openWork({ maxLoweredFraction: 0.1 });
    for (const id of ['a', 'b']) work(id, 60);
    await read(true);
    await report();
    tool.items.get('signs')?.delete('b');
    await read(true);
    await report();
    const difference = { seconds: -60, tasks: -1, labels: -1 };
    expect(await check()).toMatchObject([{ why: 'lowering_held', difference }]);
    work('c', 600);
    await read(true);
    expect(await rows()).toEqual(['2026-04-01 660 120 not_sent!']);
    await report();
    expect(await rows()).toEqual(['2026-04-01 660 660 null']);
  });

  it('names discarded work beside paid work, which needs no operator', async () => {
    const { work, readAndReport, decide, rows, check } = await openWork();
    work('early', 14_400, { at: '2026-04-01T07:00:00.000Z' });
    work('a', 60);
    await readAndReport();
    expect(await rows()).toEqual(['2026-04-01 14460 60 held!']);
    await decide(null);
    expect(await rows()).toEqual(['2026-04-01 14460 60 discarded']);
    expect(await check()).toMatchObject([{ difference: { seconds: 0 }, held: { state: 'discarded' } }]);
  });

  it('names as held the work that was reported for one contract and may belong to another', async () => {
    const { ctx, contractId, trainerId, hireAgain, report, rows, decide } = await openWork();
    const header = 'workDate,externalProjectId,opentrainUserId,totalSeconds';
    const { id } = await prepareLines(ctx, [`2026-04-01,signs,${trainerId},3600`], { header });
    await countImport(ctx, { actor: 'ada', at: '' }, id ?? 0);
    await report();
    expect(await rows()).toEqual(['2026-04-01 3600 3600 null']);
    await hireAgain();
    await report();
    expect(await rows()).toEqual(['2026-04-01 null 3600 held!', '2026-04-01 3600 null held!']);
    await decide(contractId);
    expect((await rows()).sort()).toEqual(['2026-04-01 0 null null', '2026-04-01 3600 3600 null']);
  });

  it('names work of a trainer without a contract there', async () => {
    const { work, readAndReport, engine, trainerId, rows, check } = await openWork();
    work('a', 3600);
    await readAndReport();
    await inTransaction(engine.database, async (tx) => {
      await tx.deleteFrom('participation').execute();
      await markWorkStale(tx, [{ trainerId, fromDay: '' }]);
    });
    expect(await rows()).toEqual(['2026-04-01 null 3600 unseen!', '2026-04-01 3600 null held!']);
    expect(await check()).toMatchObject([{ install: 'acme' }, { install: '', held: { reason: 'no_contract' } }]);
  });

  it('sums due, held and answered work, and what is unpaid in dollars if the rate is known', async () => {
    const { work, readAndReport, read, sum, engine, contractId, setClock } = await openWork();
    work('a', 3600);
    await readAndReport();
    setClock('2026-04-02T10:00:00.000Z');
    work('b', 7200);
    await read();
    const counts = (seconds: number) => ({ seconds });
    const expected = { install: 'acme', days: 2, differing: 1, due: counts(10_800), answered: counts(3600) };
    expect(await sum()).toMatchObject([{ ...expected, held: counts(null as never), usd: 0 }]);
    const budget = { install: 'acme', contractId, fundedVolume: 10, fundedAmountUsd: 200, paymentType: 'PAY_PER_HOUR' };
    await engine.database.kysely.insertInto('budget').values(budget).execute();
    // Two hours of twenty dollars each.
    expect(await sum()).toMatchObject([{ ...expected, usd: 40 }]);
  });

  it('can be limited to a contract and to some days', async () => {
    const { work, readAndReport, check, hire, learn, tool, setClock, contractId } = await openWork();
    work('a', 60);
    const other = hire();
    await learn();
    setClock('2026-04-02T10:00:00.000Z');
    work('b', 30);
    tool.items
      .get('signs')
      ?.set('c', { memberId: other.memberId, seconds: 5, labels: 1, at: '2026-04-02T09:00:00.000Z' });
    await readAndReport();
    const daysOf = async (wanted: Partial<Parameters<typeof checkUsage>[1]>) =>
      (await check(wanted)).map((one) => `${one.day} ${one.due.seconds}`);
    expect(await daysOf({ contractId })).toEqual(['2026-04-01 60', '2026-04-02 30']);
    expect(await daysOf({ contractId: other.contractId })).toEqual(['2026-04-02 5']);
    expect((await daysOf({ from: '2026-04-02' })).sort()).toEqual(['2026-04-02 30', '2026-04-02 5']);
    expect(await daysOf({ to: '2026-04-01' })).toEqual(['2026-04-01 60']);
  });

  it('says that it takes long if many trainers are stale', async () => {
    const { ctx, engine } = await openWork();
    const mark = (count: number) =>
      inTransaction(engine.database, (tx) =>
        markWorkStale(
          tx,
          Array.from({ length: count }, (_, n) => ({ trainerId: `t${n}`, fromDay: '2026-04-01' })),
        ),
      );
    await mark(98);
    expect(await whyLong(ctx)).toBeNull();
    await mark(100);
    expect(await whyLong(ctx)).toContain('100 trainers or more');
    const stopped = Array.fromAsync(checkUsage(ctx, { installs: ['acme'] }, AbortSignal.abort()));
    await expect(stopped).rejects.toMatchObject({ code: 'unavailable' });
    expect(await whyLong(ctx)).not.toBeNull();
    await Array.fromAsync(checkUsage(ctx, { installs: ['acme'] }));
    expect(await whyLong(ctx)).toBeNull();
  });
});
