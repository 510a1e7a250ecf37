import { expect, it } from 'vitest';
import { checkUsage } from '../../../src/usage/due/check-usage.ts';
import { decideHeld, decideLate } from '../../../src/usage/due/decide-held.ts';
import { showUsage } from '../../../src/usage/due/show-usage.ts';
import { listUsageTroubles } from '../../../src/usage/due/unpaid-store.ts';
import { countImport } from '../../../src/usage/import/import-file.ts';
import { previewReport } from '../../../src/usage/report/plan-install.ts';
import { type OneWorker, openOneWorker } from '../../support/one-worker.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { prepareLines } from '../../usage/import/import-harness.ts';

describeAnyDatabase('held work', (openFresh) => {
  /** 3,000 seconds of the 1st, held because two contracts ran then. */
  async function openTwoContracts() {
    const world = await openOneWorker(await openFresh(), '2026-04-01T09:00:00.000Z');
    const second = await world.hireAgain();
    world.setClock('2026-04-01T10:00:00.000Z');
    world.work('a', 3000);
    expect(await world.readAndReport()).toMatchObject({ outcome: 'held', sent: 0, held: 1 });
    return { ...world, second };
  }

  const seen = '2026-04-01 3000 several_contracts';

  /** Why the days differ, by the check. */
  async function whys({ ctx }: OneWorker): Promise<string[]> {
    const days = await Array.fromAsync(checkUsage(ctx, { installs: ['acme'] }));
    return days.flatMap(({ day, why, seen: { seconds } }) => (why === null ? [] : [`${day} ${seconds} ${why}`]));
  }

  it('is listed everywhere on day 17, and months later', async () => {
    const world = await openTwoContracts();
    const { live, held, ctx, contractId, second, report } = world;
    for (const [day, now] of [
      ['day 17', '2026-04-17T10:00:00.000Z'],
      ['months later', '2026-07-01T10:00:00.000Z'],
    ] as const) {
      await live(now);
      expect(await held(), day).toEqual([seen]);
      expect(await report()).toMatchObject({ outcome: 'held', held: 1 });
      for (const one of [contractId, second]) {
        const { held: shown } = await showUsage(ctx, { install: 'acme', contractId: one });
        expect(shown).toMatchObject([{ state: 'held', reason: 'several_contracts', counts: { seconds: 3000 } }]);
      }
      expect(await previewReport(ctx, { installs: ['acme'] })).toMatchObject([{ held: [{ day: '2026-04-01' }] }]);
      expect(await listUsageTroubles(ctx)).toMatchObject([
        { kind: 'held', install: 'acme', days: 1, seconds: 3000, oldest: '2026-04-01' },
      ]);
      expect(await whys(world)).toEqual(['2026-04-01 3000 held']);
    }
  });

  it('is sent once, with the next report, if it is assigned on day 15', async () => {
    const world = await openTwoContracts();
    const { live, decide, reported, report, held, contractId, second } = world;
    await live('2026-04-16T10:00:00.000Z');
    await decide(second);
    expect(await report()).toMatchObject({ outcome: 'applied', sent: 1, held: 0 });
    expect([reported(contractId), reported(second)]).toEqual([{}, { '2026-04-01': 3000 }]);
    expect([await held({ state: 'held' }), await held({ state: 'assigned' })]).toEqual([[], [seen]]);
    expect(await whys(world)).toEqual([]);
    await live('2026-05-10T10:00:00.000Z');
    expect(await report()).toMatchObject({ outcome: 'clean', requests: 0 });
  });

  it('moves and is paid once if it is assigned to another contract later', async () => {
    const world = await openTwoContracts();
    const { live, decide, reported, readAndReport, contractId, second, work, setClock, end } = world;
    await decide(contractId);
    await readAndReport();
    await live('2026-05-01T10:00:00.000Z');
    expect(reported(contractId)).toEqual({ '2026-04-01': 3000 });
    await decide(second);
    expect(await readAndReport()).toMatchObject({ sent: 2, lowered: 1 });
    expect([reported(contractId), reported(second)]).toEqual([{ '2026-04-01': 0 }, { '2026-04-01': 3000 }]);
    // Later work does not bring it back.
    await end();
    setClock('2026-05-02T10:00:00.000Z');
    work('b', 60);
    await readAndReport();
    expect([reported(contractId), reported(second)]).toEqual([
      { '2026-04-01': 0 },
      { '2026-04-01': 3000, '2026-05-02': 60 },
    ]);
  });

  it('keeps its day from being closed or lowered until it is decided', async () => {
    const world = await openOneWorker(await openFresh(), '2026-04-01T14:00:00.000Z');
    const { work, live, engine, tool, decide, reported, readAndReport, contractId } = world;
    work('before', 14_400, { at: '2026-04-01T07:00:00.000Z' });
    work('a', 60);
    work('b', 30);
    await readAndReport();
    expect(reported()).toEqual({ '2026-04-01': 90 });
    tool.items.get('signs')?.delete('b');
    await live('2026-04-18T14:00:00.000Z');
    expect(await engine.rows('usageLedger')).toMatchObject([{ seconds: 90, closedAt: null }]);
    await decide(contractId);
    expect(await readAndReport()).toMatchObject({ sent: 1, held: 0 });
    expect(reported()).toEqual({ '2026-04-01': 14_460 });
    expect(await engine.rows('usageLedger')).toMatchObject([{ closedAt: expect.any(String) }]);
  });

  it.each(['2026-04-01T11:00:00.000Z', '2026-05-01T08:00:00.000Z'])(
    'that a tool and an import both have is not assigned on %s, which is said, until one of them is discarded',
    async (decidedAt) => {
      const world = await openOneWorker(await openFresh(), '2026-04-01T09:00:00.000Z');
      const { setClock, work, readAndReport, held, decide, contractId, live, reported } = world;
      setClock('2026-04-01T10:00:00.000Z');
      work('a', 3000);
      await importSeconds(world, '2026-04-01', 500);
      expect(await readAndReport()).toMatchObject({ sent: 0, held: 2 });
      await live(decidedAt);
      const both = ['2026-04-01 3000 two_sources', '2026-04-01 500 two_sources'];
      for (const seconds of [3000, 500]) {
        await expect(decide(contractId, seconds)).rejects.toMatchObject({
          code: 'conflict',
          message: staysHeld('counted by two sources'),
        });
      }
      expect([(await held()).sort(), await readAndReport()]).toMatchObject([both, { sent: 0, held: 2 }]);
      await decide(null, 500);
      expect(await readAndReport()).toMatchObject({ sent: 1, held: 0 });
      expect(reported()).toEqual({ '2026-04-01': 3000 });
    },
  );

  it('is not assigned if it is more than 24 hours, and the answer says so', async () => {
    const world = await openOneWorker(await openFresh(), '2026-04-01T09:00:00.000Z');
    const { setClock, work, readAndReport, decide, contractId, held, engine } = world;
    setClock('2026-04-01T10:00:00.000Z');
    work('a', 90_000);
    await readAndReport();
    const refusal = { code: 'conflict', message: staysHeld('more than 24 hours in one day') };
    await expect(decide(contractId)).rejects.toMatchObject(refusal);
    expect(await held({ state: 'held' })).toEqual(['2026-04-01 90000 over_a_day']);
    expect([await engine.rows('usageDecision'), await engine.rows('audit')]).toEqual([[], []]);
  });

  it('is not assigned if the day would exceed 24 hours, and the rest of the day does not change', async () => {
    const world = await openOneWorker(await openFresh(), '2026-04-01T14:00:00.000Z');
    const { setClock, work, readAndReport, decide, contractId, held, reported } = world;
    setClock('2026-04-01T15:00:00.000Z');
    work('early', 50_000, { at: '2026-04-01T07:00:00.000Z' });
    work('a', 40_000);
    await readAndReport();
    const refusal = { code: 'conflict', message: staysHeld('more than 24 hours in one day') };
    await expect(decide(contractId)).rejects.toMatchObject(refusal);
    expect(await held({ state: 'held' })).toEqual(['2026-04-01 50000 before_start']);
    expect([reported(), await readAndReport()]).toMatchObject([{ '2026-04-01': 40_000 }, { held: 1 }]);
  });

  it('is listed and not paid if it is discarded, and sent if that is taken back and it is assigned', async () => {
    const world = await openTwoContracts();
    const { live, decide, takeBack, held, readAndReport, reported, contractId, second, engine } = world;
    await decide(null);
    await live('2026-04-20T10:00:00.000Z');
    expect([await held({ state: 'held' }), await held({ state: 'discarded' })]).toEqual([[], [seen]]);
    expect(await whys(world)).toEqual(['2026-04-01 3000 discarded']);
    expect(await readAndReport()).toMatchObject({ outcome: 'clean', held: 0 });
    await takeBack();
    expect(await held({ state: 'held' })).toEqual([seen]);
    expect(await readAndReport()).toMatchObject({ outcome: 'held', held: 1 });
    await decide(second);
    expect(await readAndReport()).toMatchObject({ sent: 1, held: 0 });
    expect([reported(contractId), reported(second)]).toEqual([{}, { '2026-04-01': 3000 }]);
    const acts = (await engine.rows('audit')) as { action: string; subject: string }[];
    expect(acts.map(({ subject }) => subject.replace(/^\w+ /, ''))).toEqual([
      'discarded',
      'taken back',
      `assigned to ${second}`,
    ]);
    await expect(takeBack().then(() => takeBack())).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is called discarded, not unseen, if its day was reported before', async () => {
    const world = await openOneWorker(await openFresh(), '2026-04-01T09:00:00.000Z');
    const { setClock, work, edit, readAndReport, decide, reported, ctx, contractId, live } = world;
    setClock('2026-04-01T10:00:00.000Z');
    work('a', 3000);
    await readAndReport();
    edit('a', 90_000);
    await readAndReport();
    expect(await whys(world)).toEqual(['2026-04-01 90000 held']);
    await decide(null);
    for (const now of ['2026-04-01T11:00:00.000Z', '2026-05-01T11:00:00.000Z']) {
      await live(now);
      expect(reported()).toEqual({ '2026-04-01': 3000 });
      const { days } = await showUsage(ctx, { install: 'acme', contractId });
      expect(days).toMatchObject([{ day: '2026-04-01', why: 'discarded' }]);
    }
  });

  it('is not decided for an unknown id, or for a contract that it cannot belong to', async () => {
    const { decide, ctx, takeBack } = await openTwoContracts();
    await expect(decide('other')).rejects.toMatchObject({ code: 'invalid' });
    await expect(takeBack()).rejects.toMatchObject({ code: 'not_found' });
    const by = { actor: 'ada', at: '' };
    await expect(decideHeld(ctx, by, 'no such id', null)).rejects.toMatchObject({ code: 'not_found' });
    await expect(decideLate(ctx, by, 'gw-none', true)).rejects.toMatchObject({ code: 'not_found' });
  });
});

function staysHeld(why: string) {
  return expect.stringContaining(`the work would still be held: ${why}`);
}

async function importSeconds({ ctx, contractId }: OneWorker, day: string, seconds: number): Promise<void> {
  const { id } = await prepareLines(ctx, [`${day},${contractId},${seconds}`]);
  await countImport(ctx, { actor: 'ada', at: '' }, id ?? 0);
}
