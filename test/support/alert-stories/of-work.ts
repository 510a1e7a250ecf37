import { inTransaction } from '../../../src/db/database.ts';
import { writeSetting } from '../../../src/db/setting-store.ts';
import { createReportWorker } from '../../../src/usage/report/report-worker.ts';
import { createAlerting } from '../alerting.ts';
import { openBudgetWorld } from '../budget-world.ts';
import type { OpenFresh } from '../databases.ts';
import { inStudio, startLoops } from '../engine-harness.ts';
import { openGuidelineWorld } from '../guidelines/guideline-world.ts';
import { hours, minutes } from '../incident.ts';
import { openPaymentWorld } from '../payment-world.ts';
import { until } from '../until.ts';
import { openUsageWorld } from '../usage-harness.ts';
import type { AlertStage, AlertStories } from './alert-story.ts';

/** A trainer at work, and the announcing of what troubles it. */
export async function openWork(openFresh: OpenFresh) {
  const alerting = createAlerting();
  const world = await openUsageWorld(await openFresh(), { maxLoweredFraction: 0.2, hears: alerting.hears });
  await world.link('signs');
  const hired = world.hire();
  await world.learn();
  world.engine.clock.advance(minutes);
  return {
    ...world,
    alerting,
    hired,
    /** So many seconds of one piece of work, as the tool shows it from now on. */
    async workFor(seconds: number, itemId = 'a') {
      const known = world.tool.items.get('signs')?.get(itemId);
      world.work(itemId, hired.memberId, { ...known, seconds });
      await world.read(true);
      return await world.report();
    },
  };
}

/** The notices of budgets, from the first that is low on. */
async function openBudget(openFresh: OpenFresh, worked: number): Promise<AlertStage> {
  const alerting = createAlerting();
  const database = await openFresh();
  const world = await openBudgetWorld(database, alerting.hears);
  await world.market.link('signs');
  const contract = await world.hire(10);
  await world.look();
  const words: Record<string, string> = { 'budget.low': 'raised', 'budget.depleted': 'raised', 'budget.ok': 'over' };
  return {
    alerting: {
      ...alerting,
      async announced() {
        const notices = await database.kysely.selectFrom('notice').select('kind').orderBy('id').execute();
        return notices.map(({ kind }) => words[kind] ?? kind);
      },
    },
    async find() {
      await world.work(contract, worked);
      world.engine.clock.advance(hours);
      await world.tellOf(contract);
      await world.look();
    },
    async end() {
      world.market.sandbox.fundMilestone(contract, { volume: 100 });
      world.engine.clock.advance(hours);
      await world.tellOf(contract);
      await world.look();
    },
  };
}

/** Work, and the budgets that pay for it. */
export const workStories = {
  async usage_never_read(openFresh) {
    const { alerting, engine, tool, read } = await openWork(openFresh);
    tool.refusedScopes.add('signs');
    await read();
    return {
      alerting,
      async find() {
        engine.clock.advance(10 * minutes);
        await read();
      },
      async end() {
        tool.refusedScopes.clear();
        await read();
      },
    };
  },

  async usage_held(openFresh) {
    const { alerting, workFor } = await openWork(openFresh);
    // More than a day has.
    return { alerting, find: () => workFor(90_000), end: () => workFor(100) };
  },

  async usage_refused(openFresh) {
    const { alerting, workFor, sandbox, hired, engine } = await openWork(openFresh);
    const standIn = { opentrainUserId: 'stand-in' };
    sandbox.replaceParticipant(hired.contractId, { leaves: hired.trainerId, joins: standIn });
    return {
      alerting,
      find: () => workFor(100),
      async end() {
        engine.clock.advance(24 * hours);
        sandbox.replaceParticipant(hired.contractId, {
          leaves: 'stand-in',
          joins: { opentrainUserId: hired.trainerId },
        });
        await workFor(200);
      },
    };
  },

  async usage_miscounted(openFresh) {
    const { alerting, workFor, engine, ctx } = await openWork(openFresh);
    await workFor(100);
    startLoops(createReportWorker(ctx, async () => undefined));
    const settings = async () => JSON.stringify(await engine.rows('setting'));
    await until('the schedule is known', settings, (rows) => rows.includes('usage_reported_tick'));
    const raised = async () => engine.log.lines().filter((line) => line['alert'] === 'usage_miscounted').length;
    return {
      alerting,
      async find() {
        const before = await raised();
        await engine.database.kysely.updateTable('usageDue').set({ seconds: 3600 }).execute();
        // As if the night had come.
        await inTransaction(engine.database, async (tx) => {
          await writeSetting(tx, 'usage_recounted_at', '2026-01-01');
          await writeSetting(tx, 'usage_reported_tick', '2026-01-01');
        });
        await until('it is mended', raised, (count) => count > before);
      },
    };
  },

  async guideline_unwritten(openFresh) {
    const installs = new Map([['own', inStudio()]]);
    const alerting = createAlerting({ installs });
    const { join, sync, tool, clock } = await openGuidelineWorld(await openFresh(), alerting.hears);
    (await join('own', 'signs')).write('Every sign.').publish();
    await sync();
    tool.texts.set('signs', 'Ask Ben.');
    return {
      alerting,
      async find() {
        clock.advance(15 * minutes);
        await sync();
      },
      end: () => sync('own', { overwrites: true }),
    };
  },

  budget_low: (openFresh) => openBudget(openFresh, 9),
  budget_depleted: (openFresh) => openBudget(openFresh, 10),

  async payment_waiting(openFresh) {
    const alerting = createAlerting();
    const { sandbox, contractId, engine, read } = await openPaymentWorld(await openFresh(), alerting.hears);
    let billed: string | undefined;
    const look = async () => {
      engine.clock.advance(hours);
      await read();
    };
    return {
      alerting,
      async find() {
        billed ??= sandbox.billContract(contractId).id;
        await look();
      },
      async end() {
        sandbox.settlePayment(billed ?? '');
        await look();
        await look();
      },
    };
  },
} satisfies AlertStories;
