import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { type BenchDatabase, withBenchDatabases } from './bench-database.ts';
import type { MarketplaceOrder, Opened } from './marketplace-process.ts';
import type { Reconciled, ReconcileOrder } from './reconcile-process.ts';

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
    postgres: { type: 'boolean', default: false },
    folder: { type: 'string', default: '.' },
  },
});
const perLink = 199;
const perPage = 200;
const answerMs = 5;

await withBenchDatabases(values, main);

async function main(databases: BenchDatabase): Promise<void> {
  say(`answers after ${answerMs} ms; requests are not paced here (as they come: 10 a second)`);
  say('                             read s   all s   requests   least   tool calls   CPU s   peak MiB');
  for (const pages of values.pages) {
    for (const contracts of values.contracts) await measure(databases, Number(contracts), pages);
  }
}

async function measure(databases: BenchDatabase, contracts: number, pages: string): Promise<void> {
  const cursors = pages === 'cursors';
  const marketplace = openProcess('marketplace-process.ts');
  const order: MarketplaceOrder = { contracts, perLink, cursors, answerMs };
  const opened = await ask<Opened>(marketplace, order);
  const databaseUrl = await databases.create(`with_${pages}_${contracts}`);
  const secretKey = randomBytes(32).toString('hex');
  const listings = countListings(contracts, cursors);
  for (const [what, least] of [
    ['first', listings + contracts],
    ['again', listings],
  ] as const) {
    const run: ReconcileOrder = { databaseUrl, secretKey, ...opened };
    const reconciled = await ask<Reconciled>(openProcess('reconcile-process.ts'), run);
    const requests = await ask<number>(marketplace, 'requests');
    say(`${`${contracts} by ${pages}, ${what}`.padEnd(26)} ${toCells(reconciled, requests, least)}`);
    const expected = what === 'first' ? contracts : 0;
    if (reconciled.added !== expected) throw new Error(`${reconciled.added} were added`);
    if (what === 'again' && reconciled.adapterCalls > 0) throw new Error('the tool was called');
  }
  marketplace.kill();
}

/** Grant, links, what is active and what has ended: all of which is one page, or as many as needed. */
function countListings(contracts: number, cursors: boolean): number {
  const active = cursors ? Math.ceil(contracts / perPage) : 1 + Math.ceil(contracts / perLink);
  return 2 + active + 1;
}

function toCells(run: Reconciled, requests: number, least: number): string {
  return [
    toSeconds(run.readMs).padStart(8),
    toSeconds(run.totalMs).padStart(7),
    String(requests).padStart(10),
    String(least).padStart(7),
    String(run.adapterCalls).padStart(12),
    toSeconds(run.cpuMs).padStart(7),
    run.peakMiB.toFixed(0).padStart(10),
  ].join(' ');
}

function openProcess(file: string): ChildProcess {
  return fork(path.join(import.meta.dirname, file));
}

async function ask<T>(child: ChildProcess, order: object | string): Promise<T> {
  const answered = once(child, 'message');
  const exited = once(child, 'exit').then(() => {
    throw new Error('a process of the bench ended before it had answered');
  });
  child.send(order);
  const [answer] = (await Promise.race([answered, exited])) as [T];
  return answer;
}

function toSeconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
