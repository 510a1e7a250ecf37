import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql } from 'kysely';
import { openStorage } from '../../src/app/storage.ts';
import type { Database } from '../../src/db/database.ts';
import { withBenchDatabases } from './bench-database.ts';
import { fillInbox } from './fill-inbox.ts';
import { fillContracts, fillMemberships } from './fill-memberships.ts';
import type { LoadOrder } from './load-process.ts';
import type { Memory } from './receive-server.ts';

/**
 * `npm run bench:console`: how long each page of the console takes when there is much to show and deliveries come in.
 * SQLite, 100,000 memberships, a million deliveries and a million receipts by default.
 */
const { values } = parseArgs({
  options: {
    memberships: { type: 'string', default: '100000' },
    deliveries: { type: 'string', default: '1000000' },
    receipts: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '40' },
    rate: { type: 'string', default: '100' },
    folder: { type: 'string', default: '.' },
  },
});
const secret = 'whsec_bench';
const rounds = Number(values.rounds);
/** What no page may take longer than, in 95 of 100. */
const mostMs = 200;
/** What is there once all pages were shown, and at the end, may differ by as much and be called flat. */
const flatBytes = 5 * 1024 * 1024;

await withBenchDatabases({ postgres: false, folder: values.folder }, async ({ create }) => {
  const url = await create('console');
  await fillInbox(url, Number(values.deliveries), { firstDaysAgo: 20 });
  const { database } = await openStorage(url);
  await varyInbox(database);
  await fillMemberships(database, Number(values.memberships), Number(values.receipts));
  await fillContracts(database, Number(values.memberships));
  // The first start derives everybody, and drops due work that follows from no source. So the work is filled in after.
  await settle(database, url);
  await fillWork(database, Number(values.memberships));
  await fillDrift(database, Number(values.memberships));
  await database.close();
  const { server, port, consoleUrl } = await startGangway(url);
  const load = forkScript('load-process.ts', []);
  try {
    const cookie = await signIn(consoleUrl);
    const order: LoadOrder = {
      port,
      secret,
      path: '/webhooks/acme',
      connections: 4,
      durationMs: 600_000,
      distinct: 60_000,
      first: 0,
      trainers: 500,
      ratePerSecond: Number(values.rate),
    };
    load.send(order);
    const [taken, memories] = await visit((address) => timeOf(`${consoleUrl}${address}`, cookie), server);
    reportPages(taken);
    reportMemory(memories);
  } finally {
    load.kill();
    server.kill();
  }
});

async function startGangway(url: string): Promise<{ server: ChildProcess; port: number; consoleUrl: string }> {
  const server = forkScript('receive-server.ts', ['gangway', secret, url]);
  const [listening] = (await once(server, 'message')) as [{ port: number; consoleUrl: string }];
  return { server, ...listening };
}

/** Runs until nobody waits to be derived any more. */
async function settle(database: Database, url: string): Promise<void> {
  const { server } = await startGangway(url);
  for (let left = -1; left !== 0; ) {
    await wait(2000);
    const count = sql<{
      left: number;
    }>`select (select count(*) from derivation) + (select count(*) from usage_stale) as left`;
    left = (await count.execute(database.kysely)).rows[0]?.left ?? 0;
  }
  server.kill();
  await once(server, 'exit');
}

function addresses(): string[] {
  const middle = Math.floor(Number(values.memberships) / 2);
  return [
    '/',
    '/access',
    '/access?state=failed',
    '/access?state=active&tool=studio',
    '/access?q=Trainer+77',
    `/access?q=usr${middle}`,
    `/trainers/usr${middle}`,
    `/memberships/${middle}`,
    '/contracts',
    '/contracts?status=ended',
    '/contracts?status=unknown&install=beta',
    '/contracts?suspects=true',
    `/contracts/ctr${middle}`,
    '/deliveries',
    '/deliveries?state=failed',
    '/deliveries?state=handled&install=acme',
    '/deliveries?type=contract.ended',
    '/deliveries?state=pending',
    '/deliveries?state=ignored',
    '/deliveries?state=unprocessable',
    `/deliveries?until=${dayAgo(10)}`,
    `/deliveries?since=${dayAgo(12)}&until=${dayAgo(10)}&state=failed`,
    '/deliveries?type=contract.started&install=beta',
    '/deliveries?type=contract.started&state=pending',
    '/deliveries/77',
    '/acts',
    '/installs',
    '/installs/acme',
    '/plans',
    '/invitations',
    '/access?leaving=true',
    '/notifications',
    '/doctor',
    '/settings',
    '/work',
    `/work?install=acme&from=${dayAgo(90)}`,
    `/work?contract=ctr${middle}&all=true`,
    '/work/held',
    '/budgets',
    `/budgets/ctr${middle}`,
    `/work/contracts/ctr${middle}`,
    '/drift',
    '/drift?side=extra&group=project-77',
    '/drift/groups',
    '/search?q=Trainer+77',
  ];
}

function dayAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
}

/** Some that nothing uses, some that failed, and a customer who is small beside the other. */
async function varyInbox(database: Database): Promise<void> {
  const db = database.kysely;
  await sql`update delivery set install = 'beta' where id % 400 = 7`.execute(db);
  await sql`update delivery set state = 'ignored', event_type = 'payout.sent' where id % 500 = 3`.execute(db);
  await sql`update delivery set state = 'failed', failure = 'It failed' where id % 200 = 9`.execute(db);
}

/** Each trainer has a contract with a budget, and ten days of work on it; 5,000 days differ, and 500 are held. */
async function fillWork(database: Database, contracts: number): Promise<void> {
  const db = database.kysely;
  const counter = (count: number) =>
    sql`with recursive counter(n) as (select 1 union all select n + 1 from counter where n < ${count})`;
  const dayOf = (number: string) => sql.raw(`date('now', '-' || (${number}) || ' days')`);
  await sql`${counter(contracts)} insert or replace into budget
      (install, contract_id, state, payment_type, consumed_fraction, consumed_seconds, is_watched)
    select 'acme', 'ctr' || n, case when n % 10 = 0 then 'low' else 'ok' end, 'PAY_PER_HOUR', n % 100 / 100.0, 36000, 1
    from counter`.execute(db);
  await sql`${counter(contracts * 10)} insert into usage_ledger
      (install, contract_id, trainer_id, day, seconds, tasks, labels, state, sent_at, answered_at, closed_at, report_id)
    select 'acme', 'ctr' || (1 + n / 10), 'usr' || (1 + n / 10), ${dayOf('n % 10')}, 3600, 3, 9, 'answered',
      '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', null, 'gw-' || n from counter`.execute(db);
  await sql`insert into usage_due
      (install, contract_id, trainer_id, day, seconds, tasks, labels, time_zone, is_partial, is_open)
    select install, contract_id, trainer_id, day, case when rowid <= 5000 then 3700 else 3600 end, tasks, labels, 'UTC', 0, 1
    from usage_ledger`.execute(db);
  await sql`update usage_ledger set state = 'refused', status = 422 where rowid <= 2500`.execute(db);
  await sql`${counter(500)} insert into usage_held (id, work, install, trainer_id, day, source, worked_on, seconds, reason,
      contracts, state, since)
    select printf('%012x', n), 'work ' || n, 'acme', 'usr' || n, ${dayOf('n % 10')}, 'tool:studio',
      '{"by":"scope","tool":"studio","scope":"signs"}', 90000, 'over_a_day',
      '[{"install":"acme","contractId":"ctr' || n || '"}]', 'held', '2026-01-01T00:00:00.000Z' from counter`.execute(
    db,
  );
}

/** Every third member of 300 groups is missing, and as many strangers are in. */
async function fillDrift(database: Database, members: number): Promise<void> {
  const db = database.kysely;
  const counter = (count: number) =>
    sql`with recursive counter(n) as (select 1 union all select n + 1 from counter where n < ${count})`;
  const at = sql`strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`;
  await sql`${counter(300)} insert into drift_listing (tool, group_id, install, listed_at, listed, unkept)
    select 'studio', 'project-' || (n - 1), 'acme', ${at}, 400, 0 from counter`.execute(db);
  await sql`${counter(Math.floor(members / 3))} insert into drift_finding (id, tool, group_id, kind, membership_id, since)
    select 'm' || n, 'studio', 'project-' || (n % 300), 'missing', n, ${at} from counter`.execute(db);
  await sql`${counter(Math.floor(members / 3))} insert into drift_finding (id, tool, group_id, kind, since)
    select 's' || n, 'studio', 'project-' || (n % 300), 'stranger', ${at} from counter`.execute(db);
}

async function signIn(consoleUrl: string): Promise<string> {
  const body = new URLSearchParams({ token: secret.padEnd(20, '-') });
  const answer = await fetch(`${consoleUrl}/sign-in`, { method: 'POST', body, redirect: 'manual' });
  const [cookie = ''] = answer.headers.getSetCookie();
  return cookie.split(';')[0] ?? '';
}

type Times = ReadonlyMap<string, number[]>;

/** All pages in turn, round after round, and the memory after each tenth of the rounds. */
async function visit(
  time: (address: string) => Promise<number>,
  server: ChildProcess,
): Promise<[taken: Times, memories: Memory[]]> {
  const taken = new Map(addresses().map((address) => [address, [] as number[]]));
  const memories = [await memoryOf(server)];
  for (let round = 1; round <= rounds; round += 1) {
    for (const [address, times] of taken) times.push(await time(address));
    if (Math.floor((round * 10) / rounds) > Math.floor(((round - 1) * 10) / rounds)) {
      memories.push(await memoryOf(server));
    }
  }
  return [taken, memories];
}

async function timeOf(address: string, cookie: string): Promise<number> {
  const begunAt = performance.now();
  const answer = await fetch(address, { headers: { cookie }, redirect: 'error' });
  await answer.arrayBuffer();
  if (!answer.ok && answer.status !== 404) throw new Error(`${address} answered ${answer.status}`);
  return performance.now() - begunAt;
}

function reportPages(taken: Times): void {
  const pages = [...taken].map(([address, times]) => {
    const sorted = times.toSorted((a, b) => a - b);
    const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
    return { address, p50: at(0.5), p95: at(0.95) };
  });
  const format = (ms: number) => `${ms.toFixed(1).padStart(8)} ms`;
  for (const { address, p50, p95 } of pages) say(`${address.padEnd(60)} p50 ${format(p50)}  p95 ${format(p95)}`);
  const slow = pages.filter(({ p95 }) => p95 >= mostMs).map(({ address }) => address);
  const but = slow.length === 0 ? '' : `; not: ${slow.join(', ')}`;
  say(`pages p95 under ${mostMs} ms: ${pages.length - slow.length} of ${pages.length}${but}`);
}

function reportMemory(memories: readonly Memory[]): void {
  for (const [tenth, { residentBytes, heapBytes, externalBytes }] of memories.entries()) {
    say(
      `after ${tenth} parts of the rounds: resident ${megabytes(residentBytes)} MB, heap ${megabytes(heapBytes)} MB, external ${megabytes(externalBytes)} MB`,
    );
  }
  const kept = memories.slice(1).map(({ heapBytes, externalBytes }) => heapBytes + externalBytes);
  const [first = 0, last = 0] = [kept[0], kept.at(-1)];
  const verdict = last - first > flatBytes ? 'grows' : 'flat';
  say(`memory after collection: ${megabytes(first)} → ${megabytes(last)} MB, ${verdict}`);
}

async function memoryOf(server: ChildProcess): Promise<Memory> {
  server.send('memory');
  const [memory] = (await once(server, 'message')) as [Memory];
  return memory;
}

function megabytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(0);
}

function forkScript(file: string, args: readonly string[]): ChildProcess {
  const execArgv = ['--disable-warning=ExperimentalWarning', '--expose-gc', '--max-semi-space-size=2'];
  return fork(path.join(import.meta.dirname, file), args, { execArgv });
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
