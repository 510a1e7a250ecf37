import { expect, it } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { listWorkedTrainers } from '../../../src/usage/due/due-store.ts';
import { refreshDue } from '../../../src/usage/due/refresh-due.ts';
import { importedObservations } from '../../../src/usage/import/import-store.ts';
import { listEngagements } from '../../../src/usage/read/scope-store.ts';
import { createEngine } from '../../support/engine-harness.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const day = '2026-03-15';
const counts = { seconds: 60, tasks: 1, labels: 1 };
/** More than either database accepts as parameters of one query. */
const many = Array.from({ length: 70_000 }, (_, index) => `unknown${index}`);

async function seeIn(database: Database, trainerId: string, on = day): Promise<void> {
  const member = { tool: 'studio', scope: '7', memberId: `m${trainerId}`, day: on };
  const row = { ...member, trainerId, ...counts, isFrozen: false, seenAt: `${day}T12:00:00.000Z` };
  await database.kysely.insertInto('usageDay').values(row).execute();
}

async function importOf({ kysely }: Database, trainerIds: string[], state: 'counted' | 'undone' | 'writing') {
  const countedAt = state === 'writing' ? null : `${day}T12:00:00.000Z`;
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
  it('have their imported work listed without that of others, however many are asked for', async () => {
    const database = await openFresh();
    await importOf(database, ['t2', 't3', 't4'], 'counted');
    const of = async (trainerIds: string[]) => {
      const listed = await importedObservations(database, database.kysely, { trainerIds, fromDay: day });
      return listed.map(({ trainerId }) => trainerId).sort();
    };
    expect([await of(['t1', 't2', 't4', ...many]), await of([])]).toEqual([['t2', 't4'], []]);
  });

  it('have only their contracts read, however many are asked for', async () => {
    const engine = createEngine(await openFresh());
    const hires = ['t1', 't2', 't3'].map((trainer, index) =>
      fullEvent({ type: 'contract.started', trainer, contract: 'c1', id: `7${index}` }),
    );
    await engine.apply(hires);
    const of = (trainerIds: string[]) => listEngagements(engine.database, engine.database.kysely, trainerIds);
    expect(await of(['t3', ...many])).toMatchObject([{ contractId: 'c1', trainerId: 't3' }]);
    expect(await of([])).toEqual([]);
  });

  it('are listed page by page in one order, each once, whatever their source', async () => {
    const engine = createEngine(await openFresh());
    const { database } = engine;
    for (const id of ['b', 'A', 'é', 'a', 'Z', '\u{1F600}', '\uFF5E']) await seeIn(database, id);
    await seeIn(database, 'a', '2026-03-16');
    await importOf(database, ['B', 'b', '\u{1F600}', '\uFF5E'], 'counted');
    await importOf(database, ['taken back'], 'undone');
    await importOf(database, ['not yet'], 'writing');
    const hires = ['b', '\u{1F600}', 'a', '\uFF5E'].map((trainer, index) =>
      fullEvent({ type: 'contract.started', trainer, contract: 'c1', project: '7', id: `7${index}`, startDate: day }),
    );
    await engine.apply(hires);
    await refreshDue(engine);
    // Only what is due is left of `b`.
    for (const table of ['usageDay', 'usageImportEntry'] as const)
      await database.kysely.deleteFrom(table).where('trainerId', '=', 'b').execute();
    const listed: string[] = [];
    for (let after = ''; ; after = listed.at(-1) ?? '') {
      const page = await listWorkedTrainers(database.kysely, after, 2);
      listed.push(...page);
      if (page.length < 2) break;
    }
    const sorted = ['A', 'B', 'Z', 'a', 'b', 'not yet', 'taken back', 'é', '\uFF5E', '\u{1F600}'];
    expect(listed).toEqual(sorted);
  });
});
