import { expect, it } from 'vitest';
import { jobKinds } from '../../src/app/loops.ts';
import { Config } from '../../src/config/config-schema.ts';
import type { Context } from '../../src/context.ts';
import { inTransaction } from '../../src/db/database.ts';
import type { Row } from '../../src/db/schema.ts';
import { AppError } from '../../src/domain/errors.ts';
import type { JobKind } from '../../src/jobs/job.ts';
import { claimJob, listFailingJobs, wantJobs } from '../../src/jobs/job-store.ts';
import { createJobWorker } from '../../src/jobs/job-worker.ts';
import { instantIn, toInstant } from '../../src/lib/clock.ts';
import { activeListJob } from '../../src/reconcile/runs/active-list-job.ts';
import { workJobs, workSweepJob } from '../../src/usage/read/read-scope.ts';
import { createEngine, startLoops } from '../support/engine-harness.ts';
import { describeAnyDatabase } from '../support/tries.ts';
import { until } from '../support/until.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const config = Config.parse({ receiver: { publicUrl: 'https://gangway.example' } });
const tools = { adapters: new Map([['studio', { readUsage: () => [] }]]) } as unknown as Context;
const ports = { append: async () => ({ id: 0, status: 'accepted' as const }), wouldDefer: async () => undefined };
const kinds = [activeListJob, ...jobKinds(config, ports), ...workJobs(tools), workSweepJob];

it('have distinct names', () => {
  expect(new Set(kinds.map(({ name }) => name)).size).toBe(kinds.length);
});

describeAnyDatabase('a kind of job', (openFresh) => {
  it.each(kinds.map((kind) => [kind.name, kind] as const))(
    '%s: 200 of one install delay no other install, although a process was killed and one job fails for an hour',
    async (name, { installs: _, schedule: _none, ...kind }) => {
      const engine = createEngine(await openFresh());
      const { database, clock } = engine;
      const keys = Array.from({ length: 200 }, (_one, index) => ({ key: `acme ${index}`, install: 'acme' }));
      await inTransaction(database, async (tx) => {
        await wantJobs(tx, name, keys, instantIn(clock, -1));
        await wantJobs(tx, name, [{ key: 'globex', install: 'globex' }], toInstant(clock.now()));
      });
      const done: string[] = [];
      let [failures, isDown] = [0, true];
      const run: JobKind['run'] = async (_ctx, { key }) => {
        if (isDown && key === 'acme 7') {
          failures += 1;
          throw new AppError('conflict', 'it answers nonsense');
        }
        done.push(key);
        return null;
      };
      const rows = async () => (await engine.rows('job')) as Row<'job'>[];
      const untilQuiet = () => {
        const now = toInstant(clock.now());
        return until('nothing is due', rows, (all) => all.every((job) => job.dueAt > now && job.leaseToken === null));
      };
      const lease = { now: toInstant(clock.now()), leasedUntil: instantIn(clock, kind.leaseMs) };
      expect(await claimJob(engine, name, 'acme', lease)).not.toBeNull();

      startLoops(createJobWorker({ ...engine, pollMs: 5 }, [{ ...kind, run }]));
      await until('the other install has had its turn', () => done.includes('globex'), Boolean);
      expect(done).toEqual(['globex']);
      clock.advance(kind.leaseMs);
      await until('the others are done', rows, ({ length }) => length === 1);
      for (let minute = 0; minute < 60; minute += 1) {
        clock.advance(minuteMs);
        await untilQuiet();
      }
      expect(await listFailingJobs(engine, 1)).toMatchObject([{ kind: name, install: 'acme', count: 1 }]);
      expect(failures).toBeLessThan(40);
      isDown = false;
      clock.advance(hourMs);
      await until('all are done', rows, (all) => all.length === 0);
      expect(new Set(done).size).toBe(201);
      expect(done).toHaveLength(201);
    },
  );
});
