import { expect, it } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { createImportObservations } from '../../../src/usage/import/import-store.ts';
import { listEngagements } from '../../../src/usage/read/contract-source-store.ts';
import { createToolObservations, listTrainers } from '../../../src/usage/read/observation-store.ts';
import { createEngine } from '../../support/engine-harness.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { storageOf } from '../../support/storage-of.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const day = '2026-03-15';
const counts = { seconds: 60, tasks: 1, labels: 1 };
/** More than either database takes as parameters of one query. */
const many = Array.from({ length: 70_000 }, (_, index) => `unknown${index}`);

async function seeIn(database: Database, trainerId: string, on = day): Promise<void> {
  const member = { tool: 'studio', scope: '7', memberId: `m${trainerId}`, day: on };
  const row = { ...member, trainerId, ...counts, isFrozen: false, seenAt: `${day}T12:00:00.000Z` };
  await database.kysely.insertInto('usageDay').values(row).execute();
}

async function importOf({ kysely }: Database, trainerIds: string[], state: 'counted' | 'undone' | 'staging') {
  const countedAt = state === 'staging' ? null : `${day}T12:00:00.000Z`;
  const file = { install: 'acme', state, fileName: 'work.csv', actor: 'ada', keptUntil: day };
  const { id: importId } = await kysely
    .insertInto('usageImport')
    .values({ ...file, countedAt })
    .returning('id')
    .executeTakeFirstOrThrow();
  const workedOn = { day, workedOnBy: 'contract' as const, workedOnId: 'c1' };
  const rows = trainerIds.map((trainerId, line) => ({ importId, line, trainerId, ...workedOn }));
  await kysely
    .insertInto('usageImportEntry')
    .values(rows.map((row) => ({ ...row, ...counts })))
    .execute();
}

describeAnyDatabase('some people after others', (openFresh) => {
  it('have their work listed without the work of others, however many are asked for', async () => {
    const database = await openFresh();
    for (const id of ['t1', 't2', 't3']) await seeIn(database, id);
    await importOf(database, ['t2', 't3', 't4'], 'counted');
    for (const source of [createToolObservations(storageOf(database)), createImportObservations(storageOf(database))]) {
      const all = await source.list(day);
      expect(all).toHaveLength(3);
      const wanted = all.filter(({ trainerId }) => trainerId !== 't3');
      expect(await source.list(day, ['t1', 't2', 't4', ...many])).toEqual(wanted);
      expect(await source.list(day, [])).toEqual([]);
    }
  });

  it('are on contracts of which no others are read, however many are asked for', async () => {
    const engine = createEngine(await openFresh());
    const hires = ['t1', 't2', 't3'].map((trainer, index) =>
      fullEvent({ type: 'contract.started', trainer, contract: 'c1', id: `7${index}` }),
    );
    await engine.apply(hires);
    const all = await listEngagements(engine);
    expect(all.map(({ trainerId }) => trainerId).sort()).toEqual(['t1', 't2', 't3']);
    const some = await listEngagements(engine, { trainerIds: ['t3', ...many] });
    expect(some).toEqual(all.filter(({ trainerId }) => trainerId === 't3'));
    expect(await listEngagements(engine, { trainerIds: [] })).toEqual([]);
  });

  it('are listed page by page in one order, each once, whatever their source', async () => {
    const database = await openFresh();
    for (const id of ['b', 'A', 'é', 'a', 'Z']) await seeIn(database, id);
    await seeIn(database, 'a', '2026-03-16');
    await seeIn(database, 'long ago', '2026-01-01');
    await importOf(database, ['B', 'b', '\u{1F600}', '\uFF5E'], 'counted');
    await importOf(database, ['taken back'], 'undone');
    await importOf(database, ['not yet'], 'staging');
    const sources = [createToolObservations(storageOf(database)), createImportObservations(storageOf(database))];
    const listed: string[] = [];
    for (let after: string | undefined; ; after = listed.at(-1)) {
      const page = await listTrainers(sources, { firstDay: day, after, limit: 2 });
      listed.push(...page);
      if (page.length < 2) break;
    }
    const inOrder = ['A', 'B', 'Z', 'a', 'b', 'taken back', 'é', '\uFF5E', '\u{1F600}'];
    expect(listed).toEqual(inOrder);
  });
});
