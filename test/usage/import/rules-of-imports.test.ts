import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decideHeld, decideLate, listLate } from '../../../src/usage/due/decide-held.ts';
import { differenceOf } from '../../../src/usage/due/explain-day.ts';
import { listHeld } from '../../../src/usage/due/held-store.ts';
import { countImport, undoImport } from '../../../src/usage/import/import-file.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { tries } from '../../support/tries.ts';
import { openUsageWorld } from '../../support/usage-harness.ts';
import { type PrepareOptions, prepareLines, toText } from './import-harness.ts';

const by = { actor: 'ada', at: '2026-03-15T12:00:00.000Z' };
const header = 'workDate,contractId,totalSeconds,tasksCompleted';
const hourMs = 3_600_000;

describeEachDatabase('work from a file', (openFresh) => {
  /** A trainer whose contract has run since the beginning of 2026, and no work in the tool. It is noon of 2026-03-15. */
  async function openWork() {
    const world = await openUsageWorld(await openFresh());
    await world.link('signs');
    const hired = world.sandbox.hire({ jobId: world.jobId, startDate: '2026-01-01T00:00:00.000Z' });
    const { contractId } = hired;
    const trainerId = hired.trainers[0]?.opentrainUserId ?? '';
    await world.learn();
    const { ctx, engine, read } = world;
    /** @param days as `day seconds,tasks` */
    const prepare = (days: readonly string[], options: PrepareOptions = {}) =>
      prepareLines(
        ctx,
        days.map((day) => day.replace(' ', `,${contractId},`)),
        { header, ...options },
      );
    return {
      ...world,
      contractId,
      trainerId,
      prepare,
      consumed: () => world.consumed(contractId),
      async take(...days: string[]): Promise<number> {
        engine.clock.advance(60_000);
        const { id, preview } = await prepare(days);
        if (id === null) throw new Error(JSON.stringify(preview));
        await countImport(ctx, by, id);
        return id;
      },
      undo: (id: number) => undoImport(ctx, by, id),
      /** The tool shows one piece of work of today. */
      async workInTool(seconds: number) {
        world.work('one', `m${trainerId}`, { seconds });
        engine.clock.advance(60_000);
        await read();
      },
    };
  }

  it('is sent once for days older than the look-back, with the sums of the preview', async () => {
    const { prepare, ctx, report, consumed, contractId } = await openWork();
    const days = ['2026-01-10 3000,1', '2026-02-01 4000,2', '2026-03-14 500,'];
    const { id, preview } = await prepare(days);
    expect(preview.listed.map(toText)).toEqual([
      `2 sent ${contractId} null → 3000`,
      `3 sent ${contractId} null → 4000`,
      `4 sent ${contractId} null → 500`,
    ]);
    expect(preview.outcomes.sent).toEqual({ lines: 3, counts: { seconds: 7500, tasks: 3, labels: null } });
    expect(consumed()).toEqual({ seconds: 0, tasks: 0, labels: 0 });
    await countImport(ctx, by, id ?? 0);
    expect(await report()).toMatchObject({ outcome: 'applied', sent: 3, held: 0 });
    expect(consumed()).toEqual({ seconds: 7500, tasks: 3, labels: 0 });
    expect(await report()).toMatchObject({ outcome: 'clean', sent: 0 });
    expect((await prepare(days)).preview.outcomes).toMatchObject({ sent: { lines: 0 }, unchanged: { lines: 3 } });
  });

  it('is previewed by what will change if it replaces some counts, and that is sent', async () => {
    const { prepare, ctx, take, report, consumed } = await openWork();
    await take('2026-03-13 1000,10', '2026-03-14 2000,20');
    await report();
    const { id, preview } = await prepare(['2026-03-13 1500,', '2026-03-14 2000,20', '2026-03-15 100,0']);
    expect(preview.outcomes).toMatchObject({
      sent: { lines: 2, counts: { seconds: 600, tasks: 0 } },
      unchanged: { lines: 1 },
      held: { lines: 0 },
    });
    await countImport(ctx, by, id ?? 0);
    await report();
    expect(consumed()).toEqual({ seconds: 3600, tasks: 30, labels: 0 });
  });

  it('is held and listed, not sent, if it corrects a day after its last report, by more or by less', async () => {
    const { prepare, ctx, take, report, consumed, contractId } = await openWork();
    await take('2026-01-10 3000,1');
    await report();
    for (const [line, to] of [
      ['2026-01-10 3600,', { seconds: 3600 }],
      ['2026-01-10 2000,2', { seconds: 2000, tasks: 2 }],
    ] as const) {
      const { id, preview } = await prepare([line]);
      expect(preview.listed).toMatchObject([{ outcome: 'held', from: { seconds: 3000 }, to }]);
      await countImport(ctx, by, id ?? 0);
      await report({ acceptsLowered: true });
      expect(consumed()).toEqual({ seconds: 3000, tasks: 1, labels: 0 });
      expect(await listLate(ctx, ['acme'])).toMatchObject([{ contractId, day: '2026-01-10', to }]);
    }
  });

  it('is held if the tool counts it too, and the preview says so', async () => {
    const { prepare, ctx, report, consumed, workInTool } = await openWork();
    await workInTool(100);
    await report();
    const { id, preview } = await prepare(['2026-03-15 500,', '2026-03-14 60,']);
    expect(preview.listed.map(({ outcome }) => outcome)).toEqual(['held', 'sent']);
    await countImport(ctx, by, id ?? 0);
    await report();
    expect(consumed()).toMatchObject({ seconds: 160 });
  });

  it('is undone count by count: zero if only it had the count, otherwise what it replaced', async () => {
    const { take, undo, report, consumed } = await openWork();
    await take('2026-03-13 1000,');
    const second = await take('2026-03-13 1500,5', '2026-03-14 60,1');
    await report();
    expect(consumed()).toEqual({ seconds: 1560, tasks: 6, labels: 0 });
    await undo(second);
    expect(await report()).toMatchObject({ sent: 2, lowered: 2 });
    expect(consumed()).toEqual({ seconds: 1000, tasks: 0, labels: 0 });
  });

  it('is undone also for a contract that an operator assigned it to outside its days', async () => {
    const { ctx, contractId, take, undo, report, consumed } = await openWork();
    const first = await take('2025-12-20 841,');
    await take('2025-12-20 ,18');
    const [held] = await listHeld(ctx);
    await decideHeld(ctx, by, held?.id ?? '', contractId);
    await report();
    expect(consumed()).toMatchObject({ seconds: 841, tasks: 18 });
    await undo(first);
    await report();
    expect(consumed()).toMatchObject({ seconds: 0, tasks: 18 });
  });

  it('is undone also on a day after its last report', async () => {
    const { take, undo, report, consumed } = await openWork();
    await take('2026-01-10 3000,1');
    const second = await take('2026-01-10 3600,', '2026-01-11 60,');
    await report();
    expect(consumed()).toMatchObject({ seconds: 3660 });
    await undo(second);
    await report();
    expect(consumed()).toEqual({ seconds: 3000, tasks: 1, labels: 0 });
  });

  it('is replaced by the counts of the tool once it is undone', async () => {
    const { take, undo, report, consumed, workInTool } = await openWork();
    const id = await take('2026-03-15 500,7');
    await report();
    await workInTool(100);
    await report();
    expect(consumed()).toEqual({ seconds: 500, tasks: 7, labels: 0 });
    await undo(id);
    await report();
    expect(consumed()).toEqual({ seconds: 100, tasks: 1, labels: 3 });
  });

  it('cannot be undone if an operator has dismissed a change of its day', async () => {
    const { ctx, take, undo, report, consumed, engine } = await openWork();
    await take('2026-01-10 3000,');
    await report();
    const second = await take('2026-01-10 3600,', '2026-03-14 60,');
    await report();
    const [late] = await listLate(ctx, ['acme']);
    await decideLate(ctx, by, late?.id ?? '', false);
    await expect(undo(second)).rejects.toMatchObject({
      code: 'conflict',
      message: `Import ${second} cannot be undone, because an operator dismissed a later change of 2026-01-10`,
    });
    engine.clock.advance(hourMs);
    await report();
    expect(consumed()).toMatchObject({ seconds: 3060 });
    // Once it is sent, it can be undone.
    await decideLate(ctx, by, late?.id ?? '', true);
    await report();
    await undo(second);
    await report();
    expect(consumed()).toMatchObject({ seconds: 3000 });
  });

  it('can be undone if the dismissed change is one of another customer', async () => {
    const { engine, take, undo, trainerId } = await openWork();
    const id = await take('2026-01-10 3000,');
    const day = {
      install: 'globex',
      contractId: 'cmc9',
      trainerId,
      day: '2026-01-10' as const,
      tasks: null,
      labels: null,
    };
    const due = { ...day, seconds: 200, timeZone: 'UTC', isPartial: false, isOpen: false };
    await engine.database.kysely.insertInto('usageDue').values(due).execute();
    const sent = { state: 'answered', sentAt: by.at, closedAt: by.at, reportId: 'r1' } as const;
    await engine.database.kysely
      .insertInto('usageLedger')
      .values({ ...day, seconds: 100, ...sent })
      .execute();
    await expect(undo(id)).resolves.toBeUndefined();
  });

  it('changes nothing if it repeats what an operator has dismissed', async () => {
    const { ctx, take, prepare, report } = await openWork();
    await take('2026-01-10 3000,');
    await report();
    await take('2026-01-10 3600,');
    const [late] = await listLate(ctx, ['acme']);
    await decideLate(ctx, by, late?.id ?? '', false);
    expect((await prepare(['2026-01-10 3600,'])).preview.listed).toMatchObject([{ outcome: 'unchanged' }]);
    expect((await prepare(['2026-01-10 3700,'])).preview.listed).toMatchObject([{ outcome: 'held' }]);
  });

  it('is previewed with the sums that are sent, whatever was imported, undone or sent before', async () => {
    const count = fc.option(fc.integer({ min: 0, max: 900 }), { nil: '' });
    const day = fc.constantFrom('2026-01-10', '2026-02-27', '2026-03-02', '2026-03-13', '2026-03-14', '2026-03-15');
    const line = fc.record({ day, seconds: fc.integer({ min: 0, max: 900 }), tasks: count });
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.uniqueArray(line, { minLength: 1, maxLength: 4, selector: (one) => one.day }) },
      { weight: 2, arbitrary: fc.nat().map(undoOne) },
      {
        weight: 1,
        arbitrary: fc.integer({ min: 1, max: 5 }).map((days) => then(({ pass }) => pass(days * 24 * hourMs))),
      },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 900 }).map((s) => then(({ workInTool }) => workInTool(s))) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 10 }), async (steps) => {
        const world = await openWork();
        const counted: number[] = [];
        for (const one of steps) {
          world.engine.clock.advance(60_000);
          if ('length' in one) counted.push(await importAsPreviewed(world, one));
          else await one.happensIn(world, counted);
          await world.report({ acceptsLowered: true });
        }
      }),
      { numRuns: tries(60) },
    );
  });

  type Work = Awaited<ReturnType<typeof openWork>>;

  interface Step {
    happensIn(work: Work, counted: number[]): Promise<void>;
  }

  function then(happensIn: Step['happensIn']): Step {
    return { happensIn };
  }

  function undoOne(drawn: number): Step {
    return then(async ({ undo }, counted) => {
      const [id] = counted.splice(drawn % Math.max(1, counted.length), 1);
      if (id !== undefined) await undo(id);
    });
  }

  async function importAsPreviewed(
    { ctx, prepare, report, consumed }: Work,
    lines: { day: string; seconds: number; tasks: number | string }[],
  ): Promise<number> {
    const before = consumed();
    const { id, preview } = await prepare(lines.map(({ day, seconds, tasks }) => `${day} ${seconds},${tasks}`));
    await countImport(ctx, by, id ?? 0);
    await report();
    const { seconds, tasks } = preview.outcomes.sent.counts;
    const sent = { seconds: seconds ?? 0, tasks: tasks ?? 0, labels: 0 };
    expect(differenceOf(consumed(), before)).toEqual(sent);
    return id ?? 0;
  }
});
