import { onTestFinished } from 'vitest';
import { paymentJob } from '../../src/budget/payment-job.ts';
import { listPendingPayments } from '../../src/budget/payment-store.ts';
import type { Context } from '../../src/context.ts';
import { type Database, inTransaction } from '../../src/db/database.ts';
import { addStandingJobs, hurryJobs } from '../../src/jobs/job-store.ts';
import { runNextJob } from '../../src/jobs/job-worker.ts';
import { toInstant } from '../../src/lib/clock.ts';
import { createEmployerSource } from '../../src/marketplace/employer/create-employer-source.ts';
import { fixedLinks } from '../../src/marketplace/source.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import type { Alerting } from './alerting.ts';
import { createEngine } from './engine-harness.ts';
import { openFront } from './front.ts';

const install = 'acme';
const pacing = { requestsPerSecond: 100_000, burst: 100_000 };

/** What waits for money at one account in the sandbox, and what reads it, without the loop around it. */
export async function openPaymentWorld(database: Database, hears?: Alerting['hears']) {
  const engine = createEngine(database, hears && { hears });
  const { clock } = engine;
  const sandbox = createSandbox({ timeScale: 0, clock });
  const { employerBaseUrl } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const { accountId, token } = sandbox.createAccount();
  const { id: jobId } = sandbox.createJob({ accountId });
  const { contractId } = sandbox.hire({ jobId });
  const front = await openFront(employerBaseUrl);
  const links = fixedLinks(new Map([[jobId, 'signs']]));
  const source = createEmployerSource({ baseUrl: front.baseUrl, token, links, pacing });
  const ctx: Context = { ...engine, sources: new Map([[install, source]]) };
  await addStandingJobs(ctx, [{ kind: 'payments', key: install, install }], toInstant(clock.now()));
  return {
    engine,
    sandbox,
    /** Stands before the marketplace. */
    front,
    contractId,
    ctx,
    /** An event asks for a reading. */
    ask: () => inTransaction(database, (tx) => hurryJobs(tx, 'payments', [install], toInstant(clock.now()))),
    /** Reads the list, if it is due. @returns whether it was */
    async read(given: Context = ctx): Promise<boolean> {
      return await runNextJob(given, paymentJob, install, new AbortController().signal);
    },
    /** The ids of what waits, by what was read. */
    waiting: async () => (await listPendingPayments(engine)).map(({ paymentId }) => paymentId),
  };
}
