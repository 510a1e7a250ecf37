import { expect, it } from 'vitest';
import { guidelineJob } from '../../src/guidelines/sync-guidelines.ts';
import { createJobWorker, type JobWorker } from '../../src/jobs/job-worker.ts';
import { startLoops } from '../support/engine-harness.ts';
import { openGuidelineWorld } from '../support/guidelines/guideline-world.ts';
import { describeAnyDatabase } from '../support/tries.ts';
import { until } from '../support/until.ts';

const [everyMs, hourMs] = [15 * 60_000, 60 * 60_000];

describeAnyDatabase('manuals on a schedule', (openDatabase) => {
  it('are read by one of two instances, only for installs that have them enabled, and again when they are due', async () => {
    const { world, read, start, untilRead } = await open();
    (await world.join('own', 'signs')).write('Every sign.').publish();
    await world.join('other', 'lamps');
    start('own');
    await untilRead();
    expect([read('own'), read('other'), world.tool.writes]).toEqual([1, 0, 1]);
    world.clock.advance(everyMs - 1);
    await untilRead();
    expect(read('own')).toBe(1);
    world.clock.advance(1);
    await untilRead();
    expect([read('own'), world.tool.writes]).toEqual([2, 1]);
  });

  it('that cannot be read are retried later than usual, and hold up no other install', async () => {
    const { world, read, start, untilRead, rows } = await open();
    const { accountId } = await world.join('own', 'signs');
    (await world.join('other', 'lamps')).write('Every lamp.').publish();
    world.sandbox.revokeAccountTokens(accountId);
    start('own', 'other');
    await untilRead();
    expect(world.tool.writes).toBe(1);
    expect(await rows()).toMatchObject([
      { install: 'other', attempts: 0, failure: null },
      { install: 'own', attempts: 1 },
    ]);
    world.clock.advance(hourMs);
    await untilRead();
    expect([read('own'), (await rows())[1]?.attempts]).toEqual([2, 2]);
  });

  async function open() {
    const database = await openDatabase();
    const world = await openGuidelineWorld(database);
    const rows = () => database.kysely.selectFrom('job').selectAll().orderBy('install').execute();
    const counts = new Map<string, number>();
    const workers: JobWorker[] = [];
    let wanted = 0;

    return {
      world,
      rows,
      read: (install: string) => counts.get(install) ?? 0,
      start(...wanting: string[]) {
        wanted = wanting.length;
        const counted = [...world.ctx.sources].map(([install, source]) => {
          const { readPublications } = source;
          const read: typeof readPublications = async (jobIds, signal) => {
            counts.set(install, (counts.get(install) ?? 0) + 1);
            return (await readPublications?.(jobIds, signal)) ?? new Map();
          };
          return [install, { ...source, readPublications: read }] as const;
        });
        const installs = new Map(
          [...world.ctx.installs].map(([name, one]) => [name, { ...one, guidelines: wanting.includes(name) }]),
        );
        const ctx = { ...world.ctx, installs, sources: new Map(counted), pollMs: 5 };
        workers.push(createJobWorker(ctx, [guidelineJob]), createJobWorker(ctx, [guidelineJob]));
        startLoops(...workers);
      },
      /** Nothing is due, and nothing is under way. */
      async untilRead() {
        for (const worker of workers) worker.wake();
        const now = world.clock.now().toISOString();
        await until('nothing is due', rows, (all) => all.length === wanted && all.every(({ dueAt }) => dueAt > now));
      },
    };
  }
});
