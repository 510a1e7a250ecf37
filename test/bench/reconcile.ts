import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { ask, databaseOptions, forkScript, say, startTable, toSeconds } from './bench.ts';
import { type BenchDatabase, withBenchDatabases } from './bench-database.ts';
import type { MarketplaceOrder, Opened } from './marketplace-process.ts';
import type { Reconciled, Run, RunOrder } from './run-process.ts';

/**
 * `npm run bench:reconcile`: what reading a customer with very many contracts takes, and what a
 * second run takes that finds nothing new.
 *
 * The marketplace is the sandbox in a process of its own, with 5 ms before each answer and at most
 * 199 active contracts per link, so that no page of a link is full; once with a `nextCursor`. The
 * tool answers at once and counts its calls. Each run is a `gangway reconcile` in a process of its
 * own, whose peak memory is that of the whole run; only its requests are not paced. `--postgres` for
 * PostgreSQL, `--contracts 10000` for one size.
 */
const { values } = parseArgs({
  options: {
    contracts: { type: 'string', multiple: true, default: ['10000', '100000'] },
    pages: { type: 'string', multiple: true, default: ['links', 'cursors'] },
    ...databaseOptions,
  },
});
const perLink = 199;
const perPage = 200;
const answerMs = 5;

say(`answers after ${answerMs} ms; requests are not paced here (as they come: 10 a second)`);
const print = startTable(24, ['read s', 'all s', 'requests', 'least', 'tool calls', 'CPU s', 'peak MiB']);
await withBenchDatabases(values, main);

async function main(databases: BenchDatabase): Promise<void> {
  for (const pages of values.pages) {
    for (const contracts of values.contracts) await measure(databases, Number(contracts), pages);
  }
}

async function measure(databases: BenchDatabase, contracts: number, pages: string): Promise<void> {
  const cursors = pages === 'cursors';
  const marketplace = forkScript('marketplace-process.ts');
  const order: MarketplaceOrder = { contracts, perLink, cursors, answerMs };
  const { baseUrl, token } = await ask<Opened>(marketplace, order);
  const databaseUrl = await databases.create(`with_${pages}_${contracts}`);
  const secretKey = randomBytes(32).toString('hex');
  const listings = countListings(contracts, cursors);
  for (const [what, least] of [
    ['first', listings + contracts],
    ['again', listings],
  ] as const) {
    const run: RunOrder = { command: 'reconcile', databaseUrl, secretKey, baseUrl, token };
    const { result, wallMs, cpuMs, startCpuMs, peakMiB } = await ask<Run<Reconciled>>(
      forkScript('run-process.ts'),
      run,
    );
    print(`${contracts} by ${pages}, ${what}`, [
      toSeconds(result.readMs),
      toSeconds(wallMs),
      String(await ask<number>(marketplace, 'requests')),
      String(least),
      String(result.toolCalls),
      toSeconds(startCpuMs + cpuMs),
      peakMiB.toFixed(0),
    ]);
    const expected = what === 'first' ? contracts : 0;
    if (result.added !== expected) throw new Error(`${result.added} were added`);
    if (what === 'again' && result.toolCalls > 0) throw new Error('the tool was called');
  }
  marketplace.kill();
}

/** Grant, links, what is active and what has ended: all of which is one page, or as many as needed. */
function countListings(contracts: number, cursors: boolean): number {
  const active = cursors ? Math.ceil(contracts / perPage) : 1 + Math.ceil(contracts / perLink);
  return 2 + active + 1;
}
