import { budgetJob, sweepContracts } from '../../src/budget/budget-job.ts';
import { type BudgetAndReading, findBudgets } from '../../src/budget/budget-store.ts';
import type { Context } from '../../src/context.ts';
import type { Database } from '../../src/db/database.ts';
import type { BudgetNotice } from '../../src/domain/notice.ts';
import { runNextJob } from '../../src/jobs/job-worker.ts';
import { toInstant } from '../../src/lib/clock.ts';
import { createPlatformSource } from '../../src/marketplace/platform/create-platform-source.ts';
import { knownOfInstall } from '../../src/reconcile/read/install-state-store.ts';
import { openWorld } from '../sandbox/sandbox-harness.ts';
import type { Alerting } from './alerting.ts';
import { createEngine } from './engine-harness.ts';
import { openFront } from './front.ts';
import { atOnce, notifying } from './notices.ts';
import { evidenceOfInstall, readInstall } from './read-whole.ts';

export type BudgetWorld = Awaited<ReturnType<typeof openBudgetWorld>>;

/** The budgets of a bridge over the evidence, and the sandbox behind a front. */
export async function openBudgetWorld(database: Database, hears?: Alerting['hears']) {
  const engine = createEngine(database, hears && { hears });
  const { clock } = engine;
  const market = await openWorld({ clock });
  const front = await openFront(market.baseUrl);
  const pacing = { requestsPerSecond: 10_000, burst: 10_000 };
  const direct = createPlatformSource({ ...market, pacing, clock });
  const { signal } = new AbortController();

  engine.config = { ...engine.config, notifications: notifying({ ops: atOnce }).notifications };
  function open(changes: Partial<Context> = {}): Context {
    const api = createPlatformSource({ baseUrl: front.baseUrl, token: market.token, pacing, clock });
    return { ...engine, sources: new Map([['acme', api]]), ...changes };
  }
  const own = open();

  const world = {
    engine,
    market,
    front,
    platform: direct,
    /** As another instance would have them. */
    open,
    /** What was announced, oldest first. */
    async notices(): Promise<BudgetNotice[]> {
      const rows = await database.kysely.selectFrom('notice').selectAll().orderBy('id').execute();
      return rows.map(
        ({ id: _, alert: __, budget, ...row }) => ({ ...row, budget: JSON.parse(budget) }) as BudgetNotice,
      );
    },
    async noticed(): Promise<string[]> {
      return (await world.notices()).map(({ kind, isRepeat }) => (isRepeat ? `still ${kind}` : kind));
    },
    /** Hires a trainer for the linked job, with hours that are paid for; the bridge learns of it. */
    async hire(hours = 10): Promise<string> {
      const { contractId } = market.sandbox.hire({ jobId: market.jobId });
      market.sandbox.fundMilestone(contractId, { volume: hours });
      await world.learn();
      return contractId;
    },
    /** Learns all there is at the marketplace. */
    async learn(): Promise<void> {
      const known = await knownOfInstall(engine, 'acme');
      const read = await readInstall(direct, 'acme', known, toInstant(clock.now()), signal);
      for (const evidence of evidenceOfInstall(read, known)) await engine.merge(evidence);
    },
    /** Tells of a contract's budget, as a delivered event. */
    async tellOf(contractId: string, createdAt: string = toInstant(clock.now())): Promise<void> {
      const data = { contractId, budget: { state: 'DEPLETED', consumedFraction: 99 } };
      const event = { id: createdAt, type: 'milestone.budget_low', resourceId: contractId };
      await engine.apply([JSON.stringify({ ...event, createdAt, data })]);
    },
    /** How much was worked today in all, reported by another system. */
    async work(contractId: string, hours: number): Promise<void> {
      const workDate = toInstant(clock.now()).slice(0, 10);
      const entries = [{ workDate, totalSeconds: hours * 3600 }];
      await market.api('POST', `/contracts/${contractId}/usage`, { body: { entries } });
    },
    /** Reads what is due. */
    async look(ctx: Context = own): Promise<void> {
      await sweepContracts(ctx);
      for (const install of ctx.sources.keys()) while (await runNextJob(ctx, budgetJob, install, signal));
    },
    /** By the id of their contract. */
    async rows(): Promise<BudgetAndReading[]> {
      const rows = await database.kysely.selectFrom('budget').select('contractId').orderBy('contractId').execute();
      return (await Promise.all(rows.map(({ contractId }) => findBudgets(engine, contractId)))).flat();
    },
  };
  return world;
}
