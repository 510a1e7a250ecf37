import { randomBytes } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import type { Adapter } from '../../src/adapters/adapter.ts';
import { type Database, inTransaction } from '../../src/db/database.ts';
import { emptyContract, emptyLink } from '../../src/domain/evidence.ts';
import { createLinkRouter } from '../../src/engine/link-router.ts';
import { addDays } from '../../src/lib/add-days.ts';
import { createAlerts } from '../../src/lib/alerts.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { createMetrics } from '../../src/lib/metrics.ts';
import { createPlatformApi } from '../../src/marketplace/platform-api.ts';
import { openStorage } from '../../src/open-storage.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { createUsage } from '../../src/usage/create-usage.ts';
import { reportUsage } from '../../src/usage/report/report-usage.ts';
import { type BenchDatabase, withBenchDatabases } from './bench-database.ts';

/**
 * `npm run bench:usage`: what reporting costs, against the sandbox over HTTP and without the pacing
 * that spares a real marketplace.
 *
 * Five thousand contracts of one trainer each have worked on each of 14 days: everything is reported
 * for the first time, then nothing has changed, then one day in a hundred. The least requests that
 * are possible is one for each contract with something to say. `--postgres` for PostgreSQL.
 */
const { values } = parseArgs({
  options: {
    contracts: { type: 'string', default: '5000' },
    days: { type: 'string', default: '14' },
    postgres: { type: 'boolean', default: false },
    folder: { type: 'string', default: '.' },
  },
});
const contracts = Number(values.contracts);
const days = Number(values.days);
const today = new Date().toISOString().slice(0, 10);
const chunkSize = 200;

await withBenchDatabases(values, main);

async function main(databases: BenchDatabase): Promise<void> {
  const { database } = await openStorage(await databases.create('usage'), randomBytes(32));
  const sandbox = createSandbox({ timeScale: 0 });
  const { baseUrl } = await sandbox.start();
  try {
    const { installId, token } = sandbox.createInstall();
    const { id: jobId } = sandbox.createJob({ installId });
    await fetch(`${baseUrl}/project-links`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ externalProjectId: 'signs', jobId }),
    });
    const hired = Array.from({ length: contracts }, () => sandbox.hire({ jobId }));
    const people = hired.map(({ contractId, trainers }) => ({
      ...{ contractId, trainerId: trainers[0]?.opentrainUserId ?? '' },
    }));
    await fill(database, people);
    const usage = createBenchUsage(database, baseUrl, token);
    say(`${contracts} contracts, ${days} days, ${database.dialect}`);
    say(
      '                      wall s   requests   least   days sent   peak memory MiB, longest block ms',
    );
    await measure('for the first time', usage, contracts);
    await measure('nothing changed', usage, 0);
    const changed = await change(database, people);
    await measure('1 % of days changed', usage, changed);
  } finally {
    await sandbox.stop();
    await database.close();
  }
}

function createBenchUsage(database: Database, baseUrl: string, token: string) {
  const installs = new Map([['acme', { tool: 'studio', projects: ['*'] }]]);
  const adapters = new Map<string, Adapter>([
    [
      'studio',
      {
        capabilities: {
          ...{ removal: { effect: 'locks_out' }, readding: 'yes', exclusive: 'membership' },
        },
        check: async () => [],
        groupFor: ({ externalProjectId }) => externalProjectId,
        findMember: async () => null,
        addMember: async () => ({ id: '', email: null }),
        removeMember: async () => undefined,
        usageScopeFor: ({ externalProjectId }) => externalProjectId,
        async *readUsage() {
          // What was read lies in the database.
        },
      },
    ],
  ]);
  const logger = createLogger({ level: 'error', destination: process.stderr });
  const metrics = createMetrics();
  const pacing = { requestsPerSecond: 100_000, burst: 100_000 };
  return createUsage({
    ...{ database, adapters, installs, logger, metrics, otherSightings: [], links: new Map() },
    ...{ routeLink: createLinkRouter(installs, adapters), clock: systemClock },
    alerts: createAlerts(logger, metrics),
    usage: { schedule: '0 * * * *', lookbackMs: 14 * 86_400_000, maxLoweredFraction: 0.2 },
    platformApis: new Map([['acme', createPlatformApi({ baseUrl, token, pacing })]]),
  });
}

interface Person {
  contractId: string;
  trainerId: string;
}

async function fill(database: Database, people: Person[]): Promise<void> {
  const install = 'acme';
  const link = { ...emptyLink(install, 'l1'), externalProjectId: 'signs' };
  await inTransaction(database, (tx) => tx.insertInto('link').values(link).execute());
  for (let from = 0; from < people.length; from += chunkSize) {
    const some = people.slice(from, from + chunkSize);
    const seenAt = new Date().toISOString();
    await inTransaction(database, async (tx) => {
      const rows = some.map(({ contractId }) => ({
        ...{ ...emptyContract(install, contractId), activeReadAt: seenAt },
      }));
      await tx.insertInto('contract').values(rows).execute();
      await tx
        .insertInto('contractLink')
        .values(some.map(({ contractId }) => ({ install, contractId, linkId: 'l1' })))
        .execute();
      await tx
        .insertInto('participation')
        .values(some.map((one) => ({ install, ...one, seenAt, absences: null })))
        .execute();
      for (let day = 0; day < days; day += 1) {
        const seen = { tool: 'studio', scope: 'signs', day: addDays(today, -day), isFrozen: 0 };
        const counts = { seconds: 3600, tasks: 10, labels: 100 };
        await tx
          .insertInto('usageDay')
          .values(
            some.map(({ trainerId }) => ({
              ...seen,
              ...counts,
              seenAt,
              trainerId,
              memberId: trainerId,
            })),
          )
          .execute();
      }
    });
  }
}

/** @returns how many contracts that concerns */
async function change(database: Database, people: Person[]): Promise<number> {
  const count = Math.round((people.length * days) / 100);
  const changed = new Set<string>();
  for (let index = 0; index < count; index += 1) {
    const { trainerId } = people[(index * 7) % people.length] ?? { trainerId: '' };
    changed.add(trainerId);
    const day = addDays(today, -(index % days));
    await inTransaction(database, (tx) =>
      tx
        .updateTable('usageDay')
        .set({ seconds: 4000 })
        .where((eb) => eb.and({ tool: 'studio', scope: 'signs', memberId: trainerId, day }))
        .execute(),
    );
  }
  return changed.size;
}

async function measure(
  what: string,
  { deps }: ReturnType<typeof createBenchUsage>,
  least: number,
): Promise<void> {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  let peak = 0;
  const look = () => {
    peak = Math.max(peak, process.memoryUsage().rss);
  };
  const timer = setInterval(look, 50);
  const begunAt = performance.now();
  const [report] = await reportUsage(deps, { installs: ['acme'] }, new AbortController().signal);
  const seconds = (performance.now() - begunAt) / 1000;
  clearInterval(timer);
  look();
  delay.disable();
  if (report?.outcome === 'failed') throw new Error(`not everything was sent: ${report.failure}`);
  const cells = [seconds.toFixed(1), report?.requests, least, report?.sent];
  const memory = Math.round(peak / 1024 ** 2);
  const blockedMs = Math.round(delay.max / 1e6);
  say(
    `${what.padEnd(20)} ${[...cells, memory, blockedMs].map((cell) => String(cell).padStart(9)).join(' ')}`,
  );
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
