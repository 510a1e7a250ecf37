import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { sql } from 'kysely';
import { openStorage } from '../../src/app/storage.ts';
import { type Database, inTransaction } from '../../src/db/database.ts';
import { emptyContract, emptyLink } from '../../src/domain/evidence.ts';
import { addDays } from '../../src/lib/days.ts';
import { markWorkStale } from '../../src/memberships/derivation-store.ts';
import { ask, databaseOptions, forkScript, say, startTable, toSeconds } from './bench.ts';
import { type BenchDatabase, withBenchDatabases } from './bench-database.ts';
import type { Opened } from './marketplace-process.ts';
import type { Reported, Run, RunOrder } from './run-process.ts';

/**
 * `npm run bench:usage`: what reporting costs, against the sandbox over HTTP and without the pacing
 * that spares a real marketplace. Ends with 1 where a request was made that was not needed, or where
 * a report takes more memory than it may.
 *
 * Five thousand contracts of one trainer each have worked on each of 14 days: everything is reported
 * for the first time, then nothing has changed, then one day in a hundred. The least requests that
 * are possible is one for each contract with something to say. Each report and the marketplace are
 * processes of their own. `--contracts 20000` for another size, and again for several;
 * `--postgres` for PostgreSQL. At last: the bytes that are kept for each piece of work.
 */
const { values } = parseArgs({
  options: {
    contracts: { type: 'string', multiple: true, default: ['5000'] },
    days: { type: 'string', default: '14' },
    ...databaseOptions,
  },
});
const days = Number(values.days);
const today = new Date().toISOString().slice(0, 10);
const chunkSize = 200;
const mostMiB = 220;
const pieces = 100_000;

const print = startTable(23, ['wall s', 'CPU s', 'requests', 'least', 'days sent', 'peak MiB', 'block ms']);
await withBenchDatabases(values, main);

async function main(databases: BenchDatabase): Promise<void> {
  for (const contracts of values.contracts) await report(databases, Number(contracts));
  await measurePieces(databases);
}

/** Pieces as Label Studio lists them, of 100 people, each grown once. */
async function measurePieces(databases: BenchDatabase): Promise<void> {
  const { database } = await openStorage(await databases.create('usage_pieces'), randomBytes(32));
  const before = await bytesOf(database);
  for (let from = 0; from < pieces; from += chunkSize) {
    const rows = Array.from({ length: chunkSize }, (_, offset) => {
      const day = addDays(today, -Math.floor((from + offset) / 5000));
      const at = `${day}T12:00:00.000Z`;
      const when = { doneDay: day, doneAt: at, lastDay: day, grown: JSON.stringify([[day, at, 300]]) };
      const whose = { tool: 'studio', scope: '12', memberId: String(offset % 100) };
      const ids = { itemId: String(4_000_000 + from + offset), taskId: String(9_000_000 + from + offset) };
      return { ...whose, ...ids, ...when, isDone: true, labels: 3, seconds: 300 };
    });
    await inTransaction(database, (tx) => tx.insertInto('usageItem').values(rows).execute());
  }
  say(
    `bytes kept for a piece of work, ${database.dialect}: ${Math.round(((await bytesOf(database)) - before) / pieces)}`,
  );
  await database.close();
}

async function bytesOf({ dialect, kysely }: Database): Promise<number> {
  const size =
    dialect === 'sqlite'
      ? sql<{ bytes: number }>`select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()`
      : sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`;
  return Number((await size.execute(kysely)).rows[0]?.bytes);
}

async function report(databases: BenchDatabase, contracts: number): Promise<void> {
  const marketplace = forkScript('marketplace-process.ts');
  try {
    const { people, ...market } = await ask<Opened>(marketplace, { contracts, perLink: contracts });
    const key = randomBytes(32);
    const databaseUrl = await databases.create(`usage_${contracts}`);
    const { database } = await openStorage(databaseUrl, key);
    await fill(database, people);
    const order: RunOrder = { command: 'report', databaseUrl, secretKey: key.toString('hex'), ...market };
    say(`${contracts} contracts, ${days} days, ${database.dialect}`);
    await measure('for the first time', order, contracts);
    await measure('nothing changed', order, 0);
    await measure('1 % of days changed', order, await change(database, people));
    await database.close();
  } finally {
    marketplace.kill();
  }
}

async function fill(database: Database, people: Opened['people']): Promise<void> {
  const install = 'acme';
  const link = { ...emptyLink(install, 'l1'), externalProjectId: 'signs' };
  await inTransaction(database, (tx) => tx.insertInto('link').values(link).execute());
  for (let from = 0; from < people.length; from += chunkSize) {
    const some = people.slice(from, from + chunkSize);
    const seenAt = new Date().toISOString();
    await inTransaction(database, async (tx) => {
      const rows = some.map(({ contractId }) => ({ ...emptyContract(install, contractId), activeReadAt: seenAt }));
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
        const seen = { tool: 'studio', scope: 'signs', day: addDays(today, -day), isFrozen: false };
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
async function change(database: Database, people: Opened['people']): Promise<number> {
  const count = Math.round((people.length * days) / 100);
  const changed = new Set<string>();
  for (let index = 0; index < count; index += 1) {
    const { trainerId } = people[(index * 7) % people.length] ?? { trainerId: '' };
    changed.add(trainerId);
    const day = addDays(today, -(index % days));
    await inTransaction(database, async (tx) => {
      await tx
        .updateTable('usageDay')
        .set({ seconds: 4000 })
        .where((eb) => eb.and({ tool: 'studio', scope: 'signs', memberId: trainerId, day }))
        .execute();
      await markWorkStale(tx, [{ trainerId, fromDay: day }]);
    });
  }
  return changed.size;
}

async function measure(what: string, order: RunOrder, least: number): Promise<void> {
  const run = await ask<Run<Reported>>(forkScript('run-process.ts'), order);
  const { wallMs, cpuMs, peakMiB, longestBlockMs, result } = run;
  const { requests, sent, failure } = result;
  if (failure !== null) throw new Error(`not everything was sent: ${failure}`);
  const counts = [requests, least, sent].map(String);
  print(what, [toSeconds(wallMs), toSeconds(cpuMs), ...counts, peakMiB.toFixed(0), longestBlockMs.toFixed(0)]);
  if (requests > least || peakMiB > mostMiB) process.exitCode = 1;
}
