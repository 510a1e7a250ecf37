import { onTestFinished } from 'vitest';
import type { Context } from '../../../src/context.ts';
import { type Database, inTransaction } from '../../../src/db/database.ts';
import type { Row } from '../../../src/db/schema.ts';
import { appendDeliveries } from '../../../src/inbox/append-store.ts';
import { createInbox } from '../../../src/inbox/inbox.ts';
import { bindInstall } from '../../../src/installs/binding-store.ts';
import { addStandingJobs } from '../../../src/jobs/job-store.ts';
import { runNextJob } from '../../../src/jobs/job-worker.ts';
import { createAlerts } from '../../../src/lib/alerts.ts';
import { toInstant } from '../../../src/lib/clock.ts';
import { createMetrics } from '../../../src/lib/metrics.ts';
import { createEmployerSource } from '../../../src/marketplace/employer/create-employer-source.ts';
import { fixedLinks } from '../../../src/marketplace/source.ts';
import { type FeedPorts, feedJob } from '../../../src/reconcile/feed/feed-job.ts';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import type { Alerting } from '../../support/alerting.ts';
import { createTestContext } from '../../support/engine-harness.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';
import { type Front, openFront } from '../../support/front.ts';
import { createLogLines, type LogLines } from '../../support/log-lines.ts';

/** The feed of one account in the sandbox, and what reads it, without the loop around it. */
export interface FeedWorld {
  sandbox: Sandbox;
  /** Stands before the marketplace. */
  front: Front;
  account: ReturnType<Sandbox['createAccount']>;
  clock: FakeClock;
  log: LogLines;
  ctx: Context;
  ports: FeedPorts;
  /** Raises so many events, each with the next number: from 0. */
  raise(count: number): void;
  /** Reads one page, if the feed is due. @returns whether it was */
  read(given?: Partial<Context & FeedPorts>, signal?: AbortSignal): Promise<boolean>;
  /** Reads until nothing is due. @returns how many pages were read */
  readAll(): Promise<number>;
  /** The numbers of the events that are stored. */
  stored(): Promise<number[]>;
  row(): Promise<Row<'feed'> | undefined>;
  /** How its readings go. */
  job(): Promise<Row<'job'>>;
}

const pacing = { requestsPerSecond: 100_000, burst: 100_000 };
const install = 'own';

/** @param hears what hears of its alerts */
export async function openFeedWorld(database: Database, hears?: Alerting['hears']): Promise<FeedWorld> {
  const metrics = createMetrics();
  const clock = createFakeClock();
  const log = createLogLines();
  const sandbox = createSandbox({ timeScale: 0, clock });
  const { employerBaseUrl } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const account = sandbox.createAccount();
  const front = await openFront(employerBaseUrl);
  const source = createEmployerSource({
    baseUrl: front.baseUrl,
    token: account.token,
    links: fixedLinks(new Map()),
    pacing,
  });
  const usualSignal = AbortSignal.timeout(600_000);
  const grant = await source.readGrant(usualSignal);
  await inTransaction(database, (tx) => bindInstall(tx, install, grant));
  const ctx = createTestContext(database, {
    sources: new Map([[install, source]]),
    alerts: createAlerts(log.logger, metrics, hears?.({ database, clock, logger: log.logger })),
    metrics,
    logger: log.logger,
    clock,
  });
  const inbox = createInbox({ append: (deliveries) => appendDeliveries(ctx, deliveries), onAppended: () => undefined });
  const ports: FeedPorts = { append: inbox.append, wouldDefer: async () => undefined };
  await addStandingJobs(ctx, [{ kind: 'feed', key: install, install }], toInstant(clock.now()));
  let raised = 0;

  async function read(changes: Partial<Context & FeedPorts> = {}, signal = usualSignal): Promise<boolean> {
    const given = { ...ctx, ...ports, ...changes };
    return await runNextJob(given, feedJob(given), install, signal);
  }

  return {
    sandbox,
    front,
    account,
    clock,
    log,
    ctx,
    ports,
    read,
    raise(count) {
      for (let last = raised + count; raised < last; raised += 1) {
        const contractId = `con_${raised}`;
        const said = { type: 'payment.pending', resourceId: `inv_${raised}`, data: { contractId } } as const;
        sandbox.raiseNews(account.accountId, said);
      }
    },
    async readAll() {
      let pages = 0;
      while (await read()) pages += 1;
      return pages;
    },
    async stored() {
      const rows = await database.kysely.selectFrom('delivery').select('subjectId').execute();
      return rows.map(({ subjectId }) => Number(subjectId?.replace('con_', ''))).sort((a, b) => a - b);
    },
    row: () => database.kysely.selectFrom('feed').selectAll().executeTakeFirst(),
    job: () => database.kysely.selectFrom('job').selectAll().executeTakeFirstOrThrow(),
  };
}
