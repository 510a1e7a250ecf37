import { expect, it } from 'vitest';
import { createClearImportsWorker } from '../../../src/usage/import/clear-imports-worker.ts';
import { importedObservations, listImports, takenBackObservations } from '../../../src/usage/import/import-store.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { startLoops } from '../../support/engine-harness.ts';
import { until } from '../../support/until.ts';
import { countRows, openImportWorld } from './import-harness.ts';

describeEachDatabase('an import', (openFresh) => {
  it('counts once it is confirmed, by contract and by project', async () => {
    const world = await openImportWorld(openFresh);
    const header = 'workDate,contractId,externalProjectId,opentrainUserId,workEmail,totalSeconds,tasksCompleted';
    const staged = await world.stage(
      ['2026-03-13,cmc1,,,,60,', '2026-03-14,cmc2,,cmu2,,120,5', '2026-03-14,,lamps,,CMU3@opentrain.work,180,0'],
      { header },
    );
    expect(staged).toEqual({
      outcome: 'staged',
      id: 1,
      preview: {
        lines: 3,
        people: 3,
        contracts: 2,
        projects: 1,
        days: 2,
        firstDay: '2026-03-13',
        lastDay: '2026-03-14',
        replaces: [],
        sums: { seconds: 360, tasks: 5, labels: null },
      },
    });
    expect(await world.sighted()).toEqual([]);
    expect(await listImports(world.engine, { limit: 10 })).toEqual([]);
    await world.count(1);
    expect(await Array.fromAsync(importedObservations(world.engine, march))).toEqual([
      {
        source: 'import:1',
        seenAt: '2026-03-15T12:00:00.000Z',
        trainerId: 'cmu1',
        workedOn: { by: 'contract', install: 'acme', contractId: 'cmc1' },
        day: '2026-03-13',
        counts: { seconds: 60, tasks: null, labels: null },
      },
      expect.objectContaining({ counts: { seconds: 120, tasks: 5, labels: null } }),
      {
        source: 'import:1',
        seenAt: '2026-03-15T12:00:00.000Z',
        trainerId: 'cmu3',
        workedOn: { by: 'project', install: 'acme', externalProjectId: 'lamps' },
        day: '2026-03-14',
        counts: { seconds: 180, tasks: 0, labels: null },
      },
    ]);
    expect(JSON.stringify(await everything(world.engine))).not.toMatch(/opentrain\.work/i);
  });

  it('replaces earlier ones day by day, says so before, and gives way again', async () => {
    const world = await openImportWorld(openFresh);
    await world.take(['2026-03-12,cmc1,1', '2026-03-13,cmc1,10', '2026-03-14,cmc1,100']);
    await world.take(['2026-03-13,cmc1,20', '2026-03-14,cmc1,200']);
    const staged = await world.stage(['2026-03-12,cmc1,3', '2026-03-14,cmc1,300']);
    const sums = { tasks: null, labels: null };
    expect(staged).toMatchObject({
      preview: {
        replaces: [
          { importId: 1, lines: 1, sums: { ...sums, seconds: 1 } },
          { importId: 2, lines: 1, sums: { ...sums, seconds: 200 } },
        ],
      },
    });
    world.engine.clock.advance(1000);
    await world.count(3);
    const seconds = async () => (await world.sighted()).map((one) => one.split(' ').slice(3).join());
    expect(await seconds()).toEqual(['3,import:3', '20,import:2', '300,import:3']);
    await world.undo(2);
    expect(await seconds()).toEqual(['3,import:3', '10,import:1', '300,import:3']);
    await world.undo(3);
    expect(await seconds()).toEqual(['1,import:1', '10,import:1', '100,import:1']);
    await world.undo(1);
    expect(await seconds()).toEqual([]);
    const days = { from: '2026-03-01', to: '2026-03-31' };
    const takenBack = await Array.fromAsync(takenBackObservations(world.engine, days));
    expect(takenBack.map(({ source, counts }) => `${source} ${counts.seconds}`)).toEqual([
      'import:3 0',
      'import:2 0',
      'import:3 0',
    ]);
    expect(await world.engine.rows('audit')).toMatchObject(
      [1, 2, 3]
        .map((id) => ({ action: 'usage import', subject: `import ${id}` }))
        .concat([2, 3, 1].map((id) => ({ action: 'usage import --undo', subject: `import ${id}` }))),
    );
    const listed = await listImports(world.engine, { limit: 10 });
    expect(listed.map(({ id, state }) => `${id} ${state}`)).toEqual(['3 undone', '2 undone', '1 undone']);
  });

  it('is undone once, and only where it counted', async () => {
    const world = await openImportWorld(openFresh);
    const id = await world.take(['2026-03-13,cmc1,60']);
    await world.undo(id);
    await expect(world.undo(id)).rejects.toThrow('The import 1 is undone already');
    await world.stage(['2026-03-13,cmc1,60']);
    await expect(world.undo(2)).rejects.toThrow('There is no import 2');
  });

  it('of one install leaves the same ids of another alone', async () => {
    const world = await openImportWorld(openFresh);
    await world.take(['2026-03-13,cmc1,60']);
    const staged = await world.stage(['2026-03-13,cmc1,70'], { install: 'globex' });
    expect(staged).toMatchObject({ preview: { replaces: [] } });
    world.engine.clock.advance(1000);
    await world.count(2);
    const [ofAcme] = ['2026-03-13 contract/acme/cmc1 cmu1 60 import:1'];
    const [ofGlobex] = ['2026-03-13 contract/globex/cmc1 cmu1 70 import:2'];
    expect(await world.sighted()).toEqual([ofAcme, ofGlobex]);
    expect(await world.sighted('globex')).toEqual([ofGlobex]);
    const all = importedObservations(world.engine, { from: '2026-03-14', to: '2026-03-31' });
    expect(await Array.fromAsync(all)).toEqual([]);
  });

  it('of more than a page is seen whole', async () => {
    const world = await openImportWorld(openFresh);
    const days = Array.from({ length: 1100 }, (_, back) => dayBack(back));
    await world.take(days.map((day) => `${day},cmc1,60`));
    await world.take(days.map((day) => `${day},cmc1,61`));
    const all = await Array.fromAsync(importedObservations(world.engine, { from: '2000-01-01', to: '2026-03-31' }));
    expect(all.map(({ day }) => day)).toEqual(days.toReversed());
    expect(new Set(all.map(({ source }) => source))).toEqual(new Set(['import:2']));
  });

  it('leaves nothing where a line is wrong, or it broke off, or waited too long', async () => {
    const world = await openImportWorld(openFresh);
    await world.stage(['2026-03-13,cmc1,60', '2026-03-14,cmc1,x']);
    const stopped = world.stage(['2026-03-13,cmc1,60'], { signal: AbortSignal.abort() });
    await expect(stopped).rejects.toThrow('aborted');
    await world.clear();
    expect(await countRows(world.engine)).toEqual([0, 0]);

    await world.stage(['2026-03-13,cmc1,60']);
    await world.clear();
    expect(await countRows(world.engine)).toEqual([1, 1]);
    world.engine.clock.advance(2 * 3_600_000);
    await world.clear();
    expect(await countRows(world.engine)).toEqual([0, 0]);
    await expect(world.count(3)).rejects.toThrow('waited too long');
  });

  it('that was killed is cleared by a running bridge', async () => {
    const { engine, stage } = await openImportWorld(openFresh);
    await stage(['2026-03-13,cmc1,60', '2026-03-14,cmc1,60']);
    engine.clock.advance(2 * 3_600_000);
    startLoops(createClearImportsWorker(engine));
    await until(
      'it is cleared',
      () => countRows(engine),
      (rows) => rows.every((count) => count === 0),
    );
  });
});

const march = { from: '2026-03-01', to: '2026-03-31' };

function dayBack(days: number): string {
  return new Date(Date.UTC(2026, 2, 15) - days * 86_400_000).toISOString().slice(0, 10);
}

async function everything(engine: Parameters<typeof countRows>[0]): Promise<object[]> {
  return [await engine.rows('usageImport'), await engine.rows('usageImportEntry')];
}
