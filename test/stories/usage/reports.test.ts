import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import type { Source } from '../../../src/marketplace/source.ts';
import { keepScopes, listWorkScopes } from '../../../src/usage/read/scope-store.ts';
import { previewReport } from '../../../src/usage/report/plan-install.ts';
import { reportUsage } from '../../../src/usage/report/report-usage.ts';
import { createReportWorker } from '../../../src/usage/report/report-worker.ts';
import { openForTest, sqlite } from '../../support/databases.ts';
import { startLoops } from '../../support/engine-harness.ts';
import { describeAnyDatabase, tries } from '../../support/tries.ts';
import { until } from '../../support/until.ts';
import { createWorkReader, openUsageWorld } from '../../support/usage-harness.ts';

const halfHourMs = 30 * 60_000;

describeAnyDatabase('the report of many trainers', (openFresh) => {
  /** More trainers than a part has, which is 25: thirty on one contract, and eight on one each. */
  async function openCrowd() {
    const world = await openUsageWorld(await openFresh());
    const { engine, sandbox, jobId } = world;
    await world.link('signs');
    const trainers = Array.from({ length: 30 }, (_, index) => ({ opentrainUserId: `crew${index}` }));
    const { contractId } = sandbox.hire({ jobId, trainers });
    const alone = Array.from({ length: 8 }, () => world.hire());
    await world.learn();
    const members = [...trainers.map((one) => `m${one.opentrainUserId}`), ...alone.map((one) => one.memberId)];
    for (const memberId of members) world.work(memberId, memberId, { seconds: 60, labels: 1 });
    engine.clock.advance(60_000);
    await world.read();
    return { ...world, contractId, alone };
  }

  it('needs the fewest requests: one for all trainers of a contract', async () => {
    const { report, consumed, requests, contractId, alone } = await openCrowd();
    expect(await report()).toMatchObject({ outcome: 'applied', sent: 38, requests: 9, left: 0 });
    expect(consumed(contractId)).toEqual({ seconds: 1800, tasks: 30, labels: 30 });
    expect(new Set(requests.map((one) => one.contractId)).size).toBe(9);
    for (const one of alone) expect(consumed(one.contractId).seconds).toBe(60);
    expect(await report()).toMatchObject({ outcome: 'clean', requests: 0 });
  });

  it('is sent by one of two instances that report at once', async () => {
    const { report, requests } = await openCrowd();
    await Promise.all([report(), report()]);
    expect(requests.filter(({ entries }) => entries.length === 30)).toHaveLength(1);
    expect(requests).toHaveLength(9);
    expect(await report()).toMatchObject({ outcome: 'clean', requests: 0 });
  });

  it('is nothing for an install whose source takes no reports: its work is read, and not counted, planned or left', async () => {
    const world = await openCrowd();
    const wanted = { installs: ['acme'] };
    const { signal } = new AbortController();
    const { reportUsage: _, ...source } = world.ctx.sources.get('acme') as Source;
    const ctx = { ...world.ctx, sources: new Map([['acme', source]]) };
    expect(await reportUsage(ctx, async () => undefined, wanted, signal)).toEqual([]);
    expect(await previewReport(ctx, wanted)).toEqual([]);
    expect(world.requests).toEqual([]);
    expect(await world.report()).toMatchObject({ outcome: 'applied', sent: 38 });
  });
});

describeAnyDatabase('on schedule', (openFresh) => {
  /** A trainer is hired, their work scope was read once, and two instances run. */
  async function openBridge() {
    const world = await openUsageWorld(await openFresh());
    const { ctx } = world;
    const onAnswer = async () => undefined;
    await world.link('signs');
    const hired = world.hire();
    await world.learn();
    startLoops(
      ...[createWorkReader(ctx), createWorkReader(ctx)],
      ...[createReportWorker(ctx, onAnswer), createReportWorker(ctx, onAnswer)],
    );
    await until(
      'the new work scope is read',
      () => world.tool.requests.length,
      (count) => count === 1,
    );
    const known = async () => JSON.stringify(await world.engine.rows('setting'));
    await until('the schedule is known', known, (rows) => rows.includes('usage_reported_tick'));
    return { ...world, ...hired };
  }

  it.each([
    ['as it is due', halfHourMs],
    ['when the bridge was away as it was due', 20 * halfHourMs],
  ])('work is read, and then reported by one of several instances, %s', async (_when, passedMs) => {
    const { engine, tool, work, requests, consumed, contractId, memberId } = await openBridge();
    work('a', memberId, { seconds: 60, labels: 1 });
    engine.clock.advance(passedMs);
    await until(
      'it is reported',
      () => consumed(contractId).seconds,
      (seconds) => seconds === 60,
    );
    expect(consumed(contractId)).toEqual({ seconds: 60, tasks: 1, labels: 1 });
    expect(requests).toHaveLength(1);
    expect(tool.requests).toHaveLength(2);
  });

  it('work is reported as soon as the memberships of its trainer are derived', async () => {
    const { ctx, engine, link, hire, learn, work, consumed } = await openUsageWorld(await openFresh());
    await link('signs');
    const { memberId, trainerId, contractId } = hire();
    await learn();
    let passes = 0;
    const usage = {
      ...ctx.config.usage,
      get schedule() {
        passes += 1;
        return ctx.config.usage.schedule;
      },
    };
    const counted = { ...ctx, config: { ...ctx.config, usage } };
    const pass = async () => {
      const before = passes;
      await until(
        'the schedule was looked at twice',
        () => passes,
        (now) => now > before + 1,
      );
    };
    startLoops(
      createWorkReader(ctx),
      createReportWorker(counted, async () => undefined),
    );
    await pass();
    const { kysely } = engine.database;
    await kysely.insertInto('derivation').values({ install: 'acme', trainerId }).execute();
    work('a', memberId, { seconds: 60, labels: 1 });
    engine.clock.advance(halfHourMs);
    const due = kysely.selectFrom('usageDue').select('seconds');
    await until(
      'it is due',
      () => due.execute(),
      ({ length }) => length === 1,
    );
    await pass();
    await kysely.deleteFrom('derivation').execute();
    await pass();
    expect(consumed(contractId).seconds).toBe(60);
  });

  it('work is reported after a reading that was due before the bridge was away', async () => {
    const { ctx, engine, link, hire, learn, work, consumed } = await openUsageWorld(await openFresh());
    await link('signs');
    const { memberId, contractId } = hire();
    await learn();
    startLoops(createReportWorker(ctx, async () => undefined));
    const rows = engine.database.kysely.selectFrom('setting').selectAll();
    const settings = async () => new Map((await rows.execute()).map(({ name, value }) => [name, value]));
    const known = await until('the schedule is known', settings, (all) => all.has('usage_reported_tick'));
    await keepScopes(ctx, await listWorkScopes(ctx), engine.clock.now().toISOString());
    work(memberId, memberId, { seconds: 60, labels: 1 });
    engine.clock.advance(20 * halfHourMs);
    const isNew = (all: typeof known) => all.get('usage_tick') !== known.get('usage_tick');
    await until('the readings are asked for', settings, isNew);
    startLoops(createWorkReader(ctx));
    const isReported = (all: typeof known) => all.get('usage_tick') === all.get('usage_reported_tick');
    await until('the tick is reported', settings, isReported);
    const seconds = async () => consumed(contractId).seconds;
    await until('it is reported', seconds, (sum) => sum === 60);
  });
});

/** With all tries twenty thousand: more days than a call may have arguments. */
const people = tries(20_000);
const days = 7;

it('counts the days of many contracts', async () => {
  const world = await openUsageWorld(openForTest(await sqlite.createMigrated()));
  const { engine, report, fates } = world;
  await world.link('signs');
  await world.learn();
  await hireMany(engine.database);
  fates.push('lost');
  const left = people * days;
  expect(await report()).toMatchObject({ outcome: 'failed', sent: 0, left, held: 0 });
});

/** People with a contract each, who have worked on seven days. */
async function hireMany({ kysely }: Database): Promise<void> {
  const numbers = sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${sql.lit(people)})`;
  const id = sql`'many' || i`;
  await sql`${numbers} insert into contract (install, contract_id)
    select 'acme', ${id} from n`.execute(kysely);
  await sql`${numbers} insert into contract_link (install, contract_id, link_id)
    select 'acme', ${id}, link_id from n cross join link`.execute(kysely);
  await sql`${numbers} insert into participation (install, contract_id, trainer_id, seen_at)
    select 'acme', ${id}, ${id}, '2026-03-09T00:00:00.000Z' from n`.execute(kysely);
  for (let day = 9; day < 9 + days; day += 1) {
    const on = `2026-03-${String(day).padStart(2, '0')}`;
    await sql`${numbers} insert into usage_day
      (tool, scope, member_id, day, trainer_id, seconds, tasks, labels, seen_at)
      select 'studio', 'signs', ${id}, cast(${on} as text), ${id}, 60, 1, 3, cast(${on} as text)
      from n`.execute(kysely);
  }
}
