import { beforeEach, expect, it } from 'vitest';
import { createBudgetStore } from '../../src/budget/budget-store.ts';
import { keepBudget } from '../../src/budget/keep-budget.ts';
import { inTransaction } from '../../src/db/database.ts';
import { countedAfterMs } from '../../src/domain/brake.ts';
import { emptyContract, emptyEvidence, emptyLink } from '../../src/domain/evidence.ts';
import { instantIn } from '../../src/lib/clock.ts';
import { type Forecast, forecast } from '../../src/operator/forecast.ts';
import { noBudget, toBudget } from '../support/budgets.ts';
import { convergeDue } from '../support/converging.ts';
import { createEngine, type Engine } from '../support/engine-harness.ts';
import { fullEvent } from '../support/event-bodies.ts';
import { createMemoryTool, type MemoryTool } from '../support/memory-tool.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const minuteMs = 60_000;

/** Each on a link of their own to one project, so that they leave one by one. */
function about(type: string, number: number): string {
  return fullEvent({ type, contract: `c${number}`, trainer: `t${number}`, link: `l${number}` });
}

describeAnyDatabase('what is to be expected', (openFresh) => {
  let engine: Engine;
  let tool: MemoryTool;

  beforeEach(async () => {
    engine = createEngine(await openFresh());
    tool = createMemoryTool();
  });

  const expected = (days = 7): Promise<Forecast> =>
    forecast(engine.database, { now: engine.clock.now(), days, limit: 100, managedDomains: [], hasMail: false });
  const leaving = async (days?: number) =>
    (await expected(days)).leaving.map(({ trainerId, at, why }) => ({ trainerId, at, why }));

  async function hire(...numbers: number[]): Promise<void> {
    await engine.apply(numbers.map((number) => about('contract.started', number)));
    // What their contracts are is known, so that none may take over from another.
    const contractsReadAt = instantIn(engine.clock, minuteMs);
    const links = numbers.map((number) => ({ ...emptyLink('acme', `l${number}`), contractsReadAt }));
    await engine.merge({ ...emptyEvidence(), links });
    await convergeDue(engine, tool);
    // The brake does not count who came in within the last hour.
    engine.clock.advance(countedAfterMs);
  }

  const unlink = (number: number) => engine.apply([about('project_link.removed', number)]);

  it('is nothing where nothing has happened', async () => {
    expect(await expected()).toEqual({
      from: '2026-03-15T12:00:00.000Z',
      until: '2026-03-22T12:00:00.000Z',
      leaving: [],
      budgets: [],
      waiting: [],
    });
  });

  it('names those whose grace period ends by then, the next one first', async () => {
    await hire(1, 2, 3, 4, 5, 6, 7);
    const now = engine.clock.now().getTime();
    const at = (minutes: number) => new Date(now + minutes * minuteMs).toISOString();
    const why = 'the link to the project was removed';
    await unlink(2);
    engine.clock.advance(5 * minuteMs);
    await unlink(1);
    const [second, first] = await leaving();
    expect([second, first]).toMatchObject([
      { trainerId: 't2', why },
      { trainerId: 't1', why },
    ]);
    expect([second?.at, first?.at].every((one) => one != null && one > at(0) && one <= at(20))).toBe(true);
  });

  it('names those who wait for a decision, whenever that is made', async () => {
    engine.limits = { ...engine.limits, max: 1, maxFraction: 0.01 };
    await hire(1, 2, 3);
    await unlink(1);
    await unlink(2);
    await engine.pass(15 * minuteMs);
    await engine.brake();
    const why = 'the link to the project was removed';
    expect((await leaving(1)).toSorted((a, b) => a.trainerId.localeCompare(b.trainerId))).toEqual([
      { trainerId: 't1', at: null, why },
      { trainerId: 't2', at: null, why },
    ]);
  });

  it('names no trainer who stays', async () => {
    await hire(1, 2);
    expect(await leaving()).toEqual([]);
  });

  /** Half of it is used, by two hours. */
  async function readBudget(contractId: string, paymentType = 'PAY_PER_HOUR'): Promise<void> {
    const { database, clock } = engine;
    const nextReadAt = instantIn(clock, minuteMs);
    await inTransaction(database, async (tx) => {
      await tx
        .insertInto('budget')
        .values({ ...noBudget, contractId, nextReadAt })
        .execute();
    });
    const consumed = { seconds: 7200, hours: 2, labels: null, tasks: null };
    const budget = toBudget('OK', { contractId, paymentType, consumedFraction: 0.5, consumed });
    const deps = { ...engine, budgets: createBudgetStore(database), addNotice: async () => undefined, repeatMs: null };
    await keepBudget(deps, { install: 'acme', contractId, budget, askedAt: clock.now().toISOString(), dueAt: null });
  }

  it('names the budgets that run out by then at the pace of the last week', async () => {
    const now = engine.clock.now().toISOString();
    const contract = (id: string) => ({ ...emptyContract('acme', id), title: `Title of ${id}` });
    await engine.merge({ ...emptyEvidence(), contracts: ['fast', 'slow', 'fixed', 'over'].map(contract) });
    const worked = (contractId: string, day: string, seconds: number) => ({
      install: 'acme',
      contractId,
      trainerId: 't1',
      day,
      seconds,
      tasks: 0,
      labels: 0,
      state: 'answered' as const,
      sentAt: now,
      reportId: `${contractId} ${day}`,
    });
    await inTransaction(engine.database, async (tx) => {
      await tx
        .insertInto('usageLedger')
        .values([
          worked('fast', '2026-03-14', 5000),
          worked('fast', '2026-03-10', 5080),
          worked('slow', '2026-03-14', 3600),
          // Before the week that counts.
          worked('slow', '2026-03-07', 90_000),
          worked('fixed', '2026-03-14', 90_000),
          worked('over', '2026-03-14', 90_000),
        ])
        .execute();
    });
    await readBudget('fast');
    await readBudget('slow');
    await readBudget('fixed', 'FIXED_PRICE');
    await readBudget('over');
    await inTransaction(engine.database, async (tx) => {
      await tx.updateTable('budget').set({ nextReadAt: null }).where('contractId', '=', 'over').execute();
    });
    expect((await expected()).budgets).toEqual([
      {
        install: 'acme',
        contractId: 'fast',
        title: 'Title of fast',
        consumedFraction: 0.5,
        at: '2026-03-20T12:00:00.000Z',
      },
    ]);
    expect((await expected(14)).budgets.map(({ contractId }) => contractId)).toEqual(['fast', 'slow']);
    expect((await expected(4)).budgets).toEqual([]);
  });
});
