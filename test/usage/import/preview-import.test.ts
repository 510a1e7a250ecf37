import { expect, it } from 'vitest';
import type { Row } from '../../../src/db/schema.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { dayBack, type ImportWorld, openImportWorld, prepareLines, toText } from './import-harness.ts';

const none = { seconds: null, tasks: null, labels: null };

/** Makes the marketplace have these seconds of a day of `cmu1` on `cmc1`. */
async function answer({ ctx }: ImportWorld, day: string, seconds: number, changes: Partial<Row<'usageLedger'>> = {}) {
  const key = { install: 'acme', contractId: 'cmc1', trainerId: 'cmu1', day };
  const tried = { triedSeconds: seconds, triedTasks: null, triedLabels: null };
  const outcome = { state: 'answered', sentAt: '2026-03-15T11:00:00.000Z', reportId: `gw-${day}` } as const;
  await ctx.database.kysely
    .insertInto('usageLedger')
    .values({ ...key, ...none, seconds, ...tried, ...outcome, ...changes })
    .execute();
}

async function preview(world: ImportWorld, lines: string[], options?: Parameters<ImportWorld['prepare']>[1]) {
  const { outcomes, listed } = (await world.prepare(lines, options)).preview;
  const sums = Object.entries(outcomes).map(([outcome, { lines: n, counts }]) => `${outcome} ${n}: ${counts.seconds}`);
  return { lines: listed.map(toText), sums };
}

describeEachDatabase('the preview of an import', (openFresh) => {
  it('says for each line what will be sent, or why not', async () => {
    const world = await openImportWorld(openFresh);
    await answer(world, '2026-03-12', 50);
    await answer(world, '2026-03-13', 60);
    await answer(world, '2026-02-01', 60, { closedAt: '2026-02-16T00:00:00.000Z' });
    await answer(world, '2026-02-02', 60, { closedAt: '2026-02-17T00:00:00.000Z' });
    await answer(world, '2026-03-11', 60, { seconds: null, state: 'refused' });
    const lines = ['2026-03-14', '2026-03-13', '2026-03-12', '2026-03-11', '2026-02-02', '2026-02-01', '2025-01-01'];
    const seconds = [60, 60, 90, 60, 60, 70, 60];
    const found = await preview(
      world,
      lines.map((day, index) => `${day},cmc1,${seconds[index]}`),
    );
    expect(found.lines).toEqual([
      '2 sent cmc1 null → 60',
      '3 unchanged cmc1 60 → 60',
      '4 sent cmc1 50 → 90',
      '5 held cmc1 null → 60, the marketplace refused the same counts before, so it is sent again a day later',
      '6 unchanged cmc1 60 → 60',
      '7 held cmc1 60 → 70, its day had its last report: send or dismiss it with "gangway usage held"',
      '8 sent cmc1 null → 60',
    ]);
    expect(found.sums).toEqual(['sent 3: 160', 'held 2: 70', 'unchanged 2: 0', 'refused 0: null']);
  });

  it('makes no work due or stale', async () => {
    const world = await openImportWorld(openFresh);
    await world.prepare(['2026-03-14,cmc1,60']);
    expect(await world.engine.rows('usageDue')).toEqual([]);
    expect(await world.engine.rows('usageStale')).toEqual([]);
  });

  it('says why work is held, and counts it', async () => {
    const world = await openImportWorld(openFresh);
    const header = 'workDate,contractId,externalProjectId,opentrainUserId,totalSeconds';
    await world.engine.database.kysely
      .updateTable('contract')
      .set({ startDate: '2026-03-10T14:00:00.000Z' })
      .where('contractId', '=', 'cmc1')
      .execute();
    const lines = [
      '2026-03-09,cmc1,,,60',
      '2026-03-10,cmc1,,,60',
      '2026-03-14,cmc2,,cmu2,60',
      '2026-03-14,,lamps,cmu2,70',
    ];
    const found = await preview(world, lines, { header });
    const both = 'counted by two sources: a tool and an import, or two imports';
    expect(found.lines).toEqual([
      '2 held null null → 60, done before the contract started',
      '3 sent cmc1 null → 60',
      `4 held null null → 60, ${both}`,
      `5 held null null → 70, ${both}`,
    ]);
    expect(found.sums).toEqual(['sent 1: 60', 'held 3: 190', 'unchanged 0: null', 'refused 0: null']);
  });

  it('sums up a day with several lines once', async () => {
    const world = await openImportWorld(openFresh);
    const { kysely } = world.engine.database;
    const another = { install: 'acme', linkId: 'cml-lamps2', externalProjectId: 'lamps2' };
    const link = await kysely
      .selectFrom('link')
      .selectAll()
      .where('linkId', '=', 'cml-lamps')
      .executeTakeFirstOrThrow();
    await kysely
      .insertInto('link')
      .values({ ...link, ...another })
      .execute();
    await kysely
      .insertInto('contractLink')
      .values({ install: 'acme', contractId: 'cmc2', linkId: 'cml-lamps2' })
      .execute();
    const header = 'workDate,externalProjectId,opentrainUserId,totalSeconds';
    const found = await preview(world, ['2026-03-14,lamps,cmu2,60', '2026-03-14,lamps2,cmu2,40'], { header });
    expect(found.lines).toEqual(['2 sent cmc2 null → 100', '3 sent cmc2 null → 100']);
    expect(found.sums[0]).toBe('sent 2: 100');
  });

  it('says that a lowering will be held if the run would lower too much', async () => {
    const world = await openImportWorld(openFresh);
    for (const day of ['2026-03-10', '2026-03-11', '2026-03-12', '2026-03-13', '2026-03-14'])
      await answer(world, day, 60);
    const lowered = ['2026-03-10,cmc1,50', '2026-03-11,cmc1,70'];
    expect((await preview(world, lowered)).lines).toEqual(['2 sent cmc1 60 → 50', '3 sent cmc1 60 → 70']);
    const more = await preview(world, [...lowered, '2026-03-12,cmc1,40']);
    const held = 'it lowers too much: "gangway usage report --accept-lowered" sends it';
    expect(more.lines).toEqual([`2 held cmc1 60 → 50, ${held}`, '3 sent cmc1 60 → 70', `4 held cmc1 60 → 40, ${held}`]);
    expect(more.sums).toEqual(['sent 1: 10', 'held 2: -30', 'unchanged 0: null', 'refused 0: null']);
  });

  it('says that nothing is sent to a marketplace that accepts no reports', async () => {
    const world = await openImportWorld(openFresh);
    const ctx = { ...world.ctx, sources: new Map() };
    const found = (await prepareLines(ctx, ['2026-03-14,cmc1,60'])).preview;
    expect(found.listed.map(toText)).toEqual(['2 held cmc1 null → 60, the marketplace of acme accepts no reports']);
    expect(found.outcomes.held).toMatchObject({ lines: 1, counts: { seconds: 60 } });
  });

  it('says that a day is sent once it has begun in its time zone', async () => {
    const world = await openImportWorld(openFresh);
    world.engine.clock.advance(-10 * 3_600_000);
    const links = new Map([['street-signs', { timeZone: 'America/Los_Angeles' }]]);
    const ctx = { ...world.ctx, config: { ...world.ctx.config, links } };
    const found = (await prepareLines(ctx, ['2026-03-15,cmc1,60'])).preview;
    const once = 'as soon as its day has started in America/Los_Angeles';
    expect(found.listed.map(toText)).toEqual([`2 sent cmc1 null → 60, ${once}`]);
  });

  it('lists the first lines of the file, whatever their trainer, and counts the others', async () => {
    const world = await openImportWorld(openFresh);
    const header = 'workDate,contractId,opentrainUserId,totalSeconds';
    const days = Array.from({ length: 700 }, (_, back) => dayBack(back));
    const lines = days.flatMap((day) => [`${day},cmc2,cmu3,60`, `${day},cmc2,cmu2,60`]);
    const found = await preview(world, lines, { header, listAtMost: 3 });
    expect(found.lines.map((text) => text.split(' ')[0])).toEqual(['2', '3', '4']);
    expect(found.sums[0]).toBe('sent 1400: 84000');
  });
});
