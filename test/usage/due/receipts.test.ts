import { expect, it } from 'vitest';
import { listLowerings } from '../../../src/usage/due/decide-held.ts';
import { differenceOf } from '../../../src/usage/due/explain-day.ts';
import { showUsage } from '../../../src/usage/due/show-usage.ts';
import { openOneWorker } from '../../support/one-worker.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const hourMs = 3_600_000;
const today = '2026-03-15';

describeAnyDatabase('the receipts of a contract', (openFresh) => {
  async function openWork() {
    const world = await openOneWorker(await openFresh(), `${today}T12:00:00.000Z`);
    const { ctx, contractId } = world;
    world.engine.clock.advance(60_000);
    const show = async () => {
      const shown = await showUsage(ctx, { install: 'acme', contractId });
      return { ...shown, unreported: differenceOf(world.consumed(contractId), shown.reported) };
    };
    return { ...world, show };
  }

  it('show what each source has, what was sent, and what was answered', async () => {
    const { engine, read, report, work, show, trainerId } = await openWork();
    work('a', 60);
    await read();
    const seenAt = engine.clock.now().toISOString();
    engine.clock.advance(hourMs);
    await report();
    const sentAt = engine.clock.now().toISOString();
    const counts = { seconds: 60, tasks: 1, labels: 1 };
    const workedOn = { by: 'scope', tool: 'studio', scope: 'signs' };
    expect(await show()).toMatchObject({
      days: [
        {
          trainerId,
          day: today,
          due: counts,
          sent: counts,
          why: null,
          observations: [{ source: 'tool:studio', workedOn, counts, seenAt }],
          report: {
            state: 'answered',
            sentAt,
            answeredAt: sentAt,
            message: null,
            requestId: expect.stringMatching(/^req_/),
            reportId: expect.stringMatching(/^gw-/),
          },
        },
      ],
      unreported: { seconds: 0 },
    });
  });

  it('list lowered days, however little, until they have risen again', async () => {
    const { read, report, work, show, tool, ctx } = await openWork();
    const lowerings = async () =>
      (await listLowerings(ctx, ['acme'])).map(({ state, day, from, to }) => [state, day, from.seconds, to?.seconds]);
    for (const [id, seconds] of Object.entries({ a: 60, b: 30, c: 5 })) work(id, seconds);
    await read(true);
    await report();
    expect(await lowerings()).toEqual([]);
    for (const id of ['b', 'c']) {
      tool.erase(id);
      await read(true);
      await report();
    }
    expect(await lowerings()).toEqual([['reported', today, 95, 60]]);
    expect((await show()).days).toMatchObject([{ report: { lowered: { from: { seconds: 95 } } }, why: null }]);
    work('d', 10);
    await read();
    await report();
    expect(await lowerings()).toEqual([['reported', today, 95, 70]]);
    for (const id of ['e', 'f']) work(id, 20);
    await read();
    await report();
    expect(await lowerings()).toEqual([]);
    expect((await show()).days).toMatchObject([{ report: { lowered: null } }]);
  });

  it('say what was refused, with the request id of the marketplace', async () => {
    const { sandbox, read, report, work, show, contractId, trainerId } = await openWork();
    work('a', 60);
    await read();
    sandbox.replaceParticipant(contractId, { leaves: trainerId });
    await report();
    expect((await show()).days).toMatchObject([
      {
        why: 'refused',
        sent: null,
        report: {
          state: 'refused',
          status: 409,
          message: expect.stringContaining('no hired trainer'),
          requestId: expect.stringMatching(/^req_/),
        },
      },
    ]);
  });

  it('say which days are in doubt, and what the marketplace may have beyond its answers', async () => {
    const { engine, read, report, arrive, work, show, fates } = await openWork();
    work('a', 60);
    await read();
    await report();
    engine.clock.advance(60_000);
    work('b', 30);
    await read();
    fates.push('unheard');
    await report();
    const days = [{ why: 'in_doubt', sent: { seconds: 60 } }];
    expect(await show()).toMatchObject({ days, unreported: { seconds: 30 } });
    await report();
    expect(await show()).toMatchObject({
      days: [{ why: 'in_doubt', difference: { seconds: 0 }, report: { doubtedUntil: expect.any(String) } }],
      unreported: { seconds: 0 },
    });
    engine.clock.advance(hourMs);
    await report();
    expect(await show()).toMatchObject({ days: [{ why: null }] });
    work('c', 5);
    await read();
    fates.push('lost');
    await report();
    expect(await show()).toMatchObject({
      days: [{ why: 'in_doubt' }],
      unreported: { seconds: 0 },
    });
    await arrive();
    expect(await show()).toMatchObject({ unreported: { seconds: 5 } });
  });
});
