import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import type { BudgetAndReading } from '../../../src/budget/budget-store.ts';
import { type BudgetReading, keepAnswer, keepBudget } from '../../../src/budget/keep-budget.ts';
import type { Database } from '../../../src/db/database.ts';
import type { BudgetNotice } from '../../../src/domain/notice.ts';
import { type BudgetWorld, openBudgetWorld } from '../../support/budget-world.ts';
import { toBudget } from '../../support/budgets.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { until } from '../../support/until.ts';
import { openUsageWorld } from '../../support/usage-harness.ts';
import { watchQueries } from '../../support/watch-queries.ts';

const noon = '2026-03-15T12:00:00.000Z';
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

describeAnyDatabase('a budget that was read', (openFresh) => {
  let database: Database;
  let world: BudgetWorld;

  beforeEach(async () => {
    database = await openFresh();
    world = await openBudgetWorld(database);
    await world.market.link('signs');
  });

  const reading = (state: string, askedAt = noon, fundedVolume = 10): BudgetReading => ({
    install: 'acme',
    contractId: 'cmc1',
    budget: toBudget(state, { fundedVolume }),
    askedAt,
  });
  const keep = (...wanted: Parameters<typeof reading>) => keepBudget(world.open(), reading(...wanted));

  async function row(): Promise<BudgetAndReading | undefined> {
    const [only, ...others] = await world.rows();
    expect(others).toEqual([]);
    return only;
  }

  it('counts if its request is later than that of the stored one', async () => {
    await keep('LOW', '2026-03-15T12:00:02.000Z', 30);
    await keep('DEPLETED', '2026-03-15T12:00:01.999Z', 10);
    expect(await row()).toMatchObject({ state: 'low', fundedVolume: 30 });
    await keep('DEPLETED', '2026-03-15T12:00:02.001Z', 31);
    expect(await row()).toMatchObject({
      state: 'depleted',
      fundedVolume: 31,
      askedAt: '2026-03-15T12:00:02.001Z',
      stateSince: '2026-03-15T12:00:02.001Z',
    });
    expect(await world.noticed()).toEqual(['budget.low', 'budget.depleted']);
  });

  it('leads to one notice if two instances store it at the same time', async () => {
    await keep('OK');
    const ctx = world.open();
    const others: Promise<unknown>[] = [];
    let isOver = false;
    const beside = watchQueries(ctx.database, {
      // The first one has locked the budget, and not written it yet.
      async 'select budget'() {
        if (others.length > 0) return;
        const markOver = () => {
          isOver = true;
        };
        others.push(keep('LOW').finally(markOver));
        // On SQLite it cannot begin yet.
        const waits = async () => isOver || (await countWaiting(database)) === 1;
        if (database.dialect === 'postgres') await until('the other one waits', waits, Boolean);
      },
    });
    await keepBudget({ ...ctx, database: beside }, reading('LOW'));
    await Promise.all(others);
    expect(await world.noticed()).toEqual(['budget.low']);
    const { contractId } = (await world.notices())[0] as BudgetNotice;
    const alerts = world.engine.log.lines().filter(({ msg }) => msg === 'The budget of a contract is running out');
    expect(alerts).toMatchObject([{ install: 'acme', contractId, notice: 'budget.low' }]);
  });

  it('is marked as noticed only together with its notice', async () => {
    await database.kysely.schema.alterTable('notice').renameTo('elsewhere').execute();
    await expect(keep('LOW')).rejects.toThrow('notice');
    await database.kysely.schema.alterTable('elsewhere').renameTo('notice').execute();
    expect(await world.rows()).toEqual([]);
    expect(world.engine.log.text()).not.toContain('running out');
    await keep('LOW');
    expect(await world.noticed()).toEqual(['budget.low']);
  });

  it('leads to repeated notices while it lasts, and to one warning in the log', async () => {
    const pass = async (ms: number) => {
      world.engine.clock.advance(ms);
      await keep('LOW', world.engine.clock.now().toISOString());
    };
    await keep('LOW');
    await pass(7 * dayMs - 1);
    expect(await world.noticed()).toEqual(['budget.low']);
    await pass(1);
    expect(await world.noticed()).toEqual(['budget.low', 'still budget.low']);
    expect((await world.notices())[1]?.occurredAt).toBe('2026-03-22T12:00:00.000Z');
    const alerts = world.engine.log.lines().filter(({ level }) => level === 'warn');
    expect(alerts).toHaveLength(1);
  });

  it('is read again when a better state will have lasted', async () => {
    const later = (ms: number) => {
      world.engine.clock.advance(ms);
      return world.engine.clock.now().toISOString();
    };
    const id = await world.hire(10);
    await world.work(id, 9);
    await world.look();
    await world.work(id, 1);
    const halfPast = later(hourMs / 2);
    await world.tellOf(id, halfPast);
    await world.look();
    expect(await row()).toMatchObject({ state: 'ok', notifiedState: 'low', stateSince: halfPast });
    expect((await row())?.nextReadAt).toBe('2026-03-15T13:30:00.000Z');
    later(hourMs);
    await world.look();
    expect(await world.noticed()).toEqual(['budget.low', 'budget.ok']);
    expect((await world.notices())[1]?.occurredAt).toBe(halfPast);
    expect(await row()).toMatchObject({ nextReadAt: '2026-03-16T13:30:00.000Z' });
  });

  it('is taken from the answer to a usage report, and need not be read then', async () => {
    const id = await world.hire(10);
    await world.look();
    world.engine.clock.advance(hourMs);
    const [ctx, of] = [world.open(), { install: 'acme', contractId: id }];
    const { budget } = await world.platform.reportUsage(
      ...[id, [{ workDate: '2026-03-15', totalSeconds: 5 * 3600 }], new AbortController().signal],
    );
    await keepAnswer(ctx, of, budget, '2026-03-15T13:00:00.000Z');
    expect(await row()).toMatchObject({
      consumedVolume: 5,
      askedAt: '2026-03-15T13:00:00.000Z',
      nextReadAt: '2026-03-16T13:00:00.000Z',
    });
    await keepAnswer(ctx, of, null, '2026-03-15T14:00:00.000Z');
    await keepAnswer(ctx, of, toBudget('LOW'), '2026-03-15T14:00:00.000Z');
    expect(await row()).toMatchObject({ state: 'ok', askedAt: '2026-03-15T13:00:00.000Z' });
  });

  it('does not fail the usage report if it cannot be stored', async () => {
    await database.kysely.schema.alterTable('notice').renameTo('elsewhere').execute();
    await keepAnswer(world.open(), { install: 'acme', contractId: 'cmc1' }, toBudget('LOW'), noon);
    expect(world.engine.log.text()).toContain('Could not store the budget');
  });

  it('is stored from each answer to a usage report', async () => {
    const usage = await openUsageWorld(database, {}, (_, ...answer) => keepAnswer(world.open(), ...answer));
    await usage.link('signs');
    const { contractId, memberId } = usage.hire();
    usage.sandbox.fundMilestone(contractId, { volume: 10 });
    await usage.learn();
    const at = usage.engine.clock.now().toISOString();
    usage.work('a', memberId, { seconds: 8 * 3600 });
    await usage.read();
    await usage.report();
    expect(await world.rows()).toMatchObject([
      { contractId, state: 'low', consumedSeconds: 8 * 3600, askedAt: at, nextReadAt: null },
    ]);
    expect(await world.noticed()).toEqual(['budget.low']);
  });
});

async function countWaiting({ kysely }: Database): Promise<number> {
  const waiting = sql`select pid from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  return (await waiting.execute(kysely)).rows.length;
}
