import { expect, it } from 'vitest';
import { housekeeping } from '../../../src/app/housekeeping.ts';
import { createJobWorker } from '../../../src/jobs/job-worker.ts';
import { importedObservations, listImports } from '../../../src/usage/import/import-store.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { startLoops } from '../../support/engine-harness.ts';
import { until } from '../../support/until.ts';
import { countRows, dayBack, openImportWorld } from './import-harness.ts';

describeEachDatabase('an import', (openFresh) => {
  it('counts once it is confirmed, by contract and by project, and stores no address', async () => {
    const world = await openImportWorld(openFresh);
    const { database } = world.ctx;
    const header = 'workDate,contractId,externalProjectId,opentrainUserId,workEmail,totalSeconds,tasksCompleted';
    const lines = [
      '2026-03-13,cmc1,,,,60,',
      '2026-03-14,cmc2,,cmu2,,120,5',
      '2026-03-14,,lamps,,CMU3@opentrain.work,180,0',
    ];
    const { id, preview } = await world.prepare(lines, { header });
    expect(preview).toMatchObject({ lines: 3, people: 3, firstDay: '2026-03-13', lastDay: '2026-03-14' });
    expect(await world.observed()).toEqual([]);
    expect(await listImports(world.engine, { limit: 10 })).toEqual([]);

    await world.count(id ?? 0);
    expect(await world.observed()).toEqual([
      '2026-03-13 contract/acme/cmc1 cmu1 60/null import:1',
      '2026-03-14 contract/acme/cmc2 cmu2 120/5 import:1',
      '2026-03-14 project/acme/lamps cmu3 180/0 import:1',
    ]);
    const of = { trainerIds: ['cmu1', 'cmu2'], fromDay: '2026-03-14' };
    expect(await importedObservations(database, database.kysely, of)).toEqual([
      {
        source: 'import:1',
        seenAt: '2026-03-15T12:00:00.000Z',
        trainerId: 'cmu2',
        workedOn: { by: 'contract', install: 'acme', contractId: 'cmc2' },
        day: '2026-03-14',
        counts: { seconds: 120, tasks: 5, labels: null },
      },
    ]);
    expect(await listImports(world.engine, { limit: 10 })).toMatchObject([
      { id: 1, state: 'counted', lines: 3, people: 3, firstDay: '2026-03-13', lastDay: '2026-03-14', actor: 'ada' },
    ]);
    const kept = [await world.engine.rows('usageImport'), await world.engine.rows('usageImportEntry')];
    expect(JSON.stringify(kept)).not.toMatch(/opentrain\.work/i);
  });

  it('is undone once, and only if it counted', async () => {
    const world = await openImportWorld(openFresh);
    const id = await world.take(['2026-03-13,cmc1,60']);
    await world.undo(id);
    await expect(world.undo(id)).rejects.toThrow('Import 1 is already undone');
    expect(await world.engine.rows('audit')).toMatchObject([
      { action: 'usage import', subject: 'import 1' },
      { action: 'usage undo', subject: 'import 1' },
    ]);
    expect(await listImports(world.engine, { limit: 10 })).toMatchObject([{ id, state: 'undone' }]);
    await world.prepare(['2026-03-13,cmc1,60']);
    await expect(world.undo(2)).rejects.toThrow('There is no import 2');
  });

  it('does not change the same ids of another install', async () => {
    const world = await openImportWorld(openFresh);
    await world.take(['2026-03-13,cmc1,60']);
    await world.take(['2026-03-13,cmc1,70'], { install: 'globex' });
    expect(await world.observed()).toEqual([
      '2026-03-13 contract/acme/cmc1 cmu1 60/null import:1',
      '2026-03-13 contract/globex/cmc1 cmu1 70/null import:2',
    ]);
  });

  it('is dropped and cleared if a line is wrong, if it breaks off, or if it waits too long', async () => {
    const world = await openImportWorld(openFresh);
    await world.prepare(['2026-03-13,cmc1,60', '2026-03-14,cmc1,x']);
    const stopped = world.prepare(['2026-03-13,cmc1,60'], { signal: AbortSignal.abort() });
    await expect(stopped).rejects.toThrow('aborted');
    await world.clear();
    expect(await countRows(world.engine)).toEqual([0, 0]);

    await world.prepare(['2026-03-13,cmc1,60']);
    await world.clear();
    expect(await countRows(world.engine)).toEqual([1, 1]);
    world.engine.clock.advance(2 * 3_600_000);
    await world.clear();
    expect(await countRows(world.engine)).toEqual([0, 0]);
    await expect(world.count(3)).rejects.toThrow('took too long and was dropped');
  });

  it('is cleared by a running bridge after it was killed, also if it has more lines than a transaction takes', async () => {
    const { engine, ctx, prepare } = await openImportWorld(openFresh);
    await prepare(Array.from({ length: 1100 }, (_, back) => `${dayBack(back)},cmc1,60`));
    expect(await countRows(engine)).toEqual([1, 1100]);
    engine.clock.advance(2 * 3_600_000);
    startLoops(createJobWorker(ctx, housekeeping));
    await until(
      'it is cleared',
      () => countRows(engine),
      (rows) => rows.every((count) => count === 0),
    );
  });

  it('makes the due work of each of its trainers stale from their first day', async () => {
    const world = await openImportWorld(openFresh);
    const header = 'workDate,contractId,opentrainUserId,totalSeconds';
    const days = Array.from({ length: 600 }, (_, back) => `${dayBack(back)},cmc2,cmu2,60`);
    await world.prepare([...days, '2026-03-02,cmc2,cmu3,1', '2026-03-01,cmc2,cmu3,1'], { header });
    await world.count(1);
    const due = await world.engine.database.kysely.selectFrom('usageDue').select('day').execute();
    expect(due).toHaveLength(602);
    expect(await world.engine.rows('usageStale')).toEqual([]);
  });
});
