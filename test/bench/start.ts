import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import SqliteDatabase from 'better-sqlite3';
import { minutesAgo, toBody } from '../support/lifecycle-events.ts';
import { sign } from '../support/sign.ts';
import { say } from './bench.ts';
import { withBenchDatabases } from './bench-database.ts';
import { openIdleMarketplace } from './idle-marketplace.ts';
import { checkOut, type MeasuredProcess, type MeasuredProgram, openProgram, type Usage } from './measured-program.ts';

/**
 * `npm run bench:start`: what a command and a start take of the processor, and what a bridge takes
 * while it has nothing to do. `--before HEAD~5` shows another commit beside it, or `--before ../other`
 * another checkout. Times are those of the processor, beyond what Node takes by itself.
 */
const { values } = parseArgs({
  options: {
    before: { type: 'string' },
    contracts: { type: 'string', default: '5000' },
    seconds: { type: 'string', default: '20' },
    folder: { type: 'string', default: '.' },
  },
});
const secret = 'whsec_c2VjcmV0LW9mLWFjbWU';
/** After a start, or after work: what is to be given back is given back by then. */
const settleMs = 12_000;
/** After a minute without a delivery the thread that stores them ends. */
const threadEndsMs = 65_000;
/** Requests that are under way at once. */
const atOnce = 20;

type Row = readonly [name: string, value: string];

await withBenchDatabases({ postgres: false, folder: values.folder }, async (sqlite, folder) => {
  await withBenchDatabases({ postgres: true, folder: values.folder }, async (postgres) => {
    const marketplace = await openIdleMarketplace({
      more: { '/project-links': { projectLinks: [] }, '/webhook-endpoints': { webhookEndpoints: [] } },
    });
    const columns: Row[][] = [];
    for (const [name, checkout] of toCheckouts(folder)) {
      const bench = (databaseUrl: string) =>
        createBench(checkout, path.join(folder, name), databaseUrl, marketplace.baseUrl);
      columns.push([
        ['', name],
        ...(await measureCommands(await bench(await sqlite.create(`${name}_commands`)))),
        ...(await measureIdle('SQLite, one install', await bench(await sqlite.create(`${name}_idle`)))),
        ...(await measureIdle('PostgreSQL, one install', await bench(await postgres.create(`${name}_idle`)))),
        ...(await measureFull(await bench(await sqlite.create(`${name}_full`)))),
      ]);
    }
    marketplace.close();
    for (const [index, [name]] of (columns[0] ?? []).entries()) {
      const cells = columns.map((column) => (column[index]?.[1] ?? '').padStart(10));
      say(`${name.padEnd(60)}${cells.join('')}`);
    }
  });
});

function toCheckouts(folder: string): [string, string][] {
  const { before } = values;
  const now: [string, string] = ['now', path.resolve('.')];
  if (before === undefined) return [now];
  return [['before', before.includes('/') ? path.resolve(before) : checkOut(before, folder)], now];
}

interface Bench {
  program: MeasuredProgram;
  args: string[];
  databaseUrl: string;
}

async function createBench(checkout: string, folder: string, databaseUrl: string, baseUrl: string): Promise<Bench> {
  mkdirSync(folder, { recursive: true });
  const configFile = path.join(folder, `${databaseUrl.split(/[/_:]/).join('-')}.json`);
  const config = {
    receiver: { host: '127.0.0.1', port: 0, drain: '0s', publicUrl: 'https://bridge.example.com' },
    console: { port: 0 },
    database: { url: databaseUrl },
    marketplace: { baseUrl },
    // Else what is measured would depend on the minute it runs in.
    reconcile: { schedule: '0 0 29 2 *' },
    usage: { schedule: '0 0 29 2 *' },
    installs: { acme: { token: 'ot_ptk_acme', webhookSecrets: [secret], tool: 'memory' } },
    tools: { memory: { adapter: path.join(import.meta.dirname, 'memory-adapter.ts') } },
  };
  writeFileSync(configFile, JSON.stringify(config));
  const env = {
    GANGWAY_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    NODE_COMPILE_CACHE: path.join(folder, 'cache'),
  };
  return { program: await openProgram(checkout, env), args: ['--config', configFile], databaseUrl };
}

async function measureCommands({ program, args }: Bench): Promise<Row[]> {
  await program.timeOf(['migrate', ...args]);
  const commands = [['--help'], ['status', ...args]];
  const rows: Row[] = [];
  for (const command of commands) {
    const [name = ''] = command;
    rows.push([`${name}: processor ms`, (await program.timeOf(command)).toFixed(0)]);
    rows.push([`${name}: files loaded`, String(await program.countModules(command))]);
  }
  return rows;
}

async function measureIdle(name: string, { program, args }: Bench): Promise<Row[]> {
  const first = await program.start(args);
  await first.stop();
  const bridge = await program.start(args);
  try {
    return [[`${name}: start to ready, processor ms`, bridge.readyMs.toFixed(0)], ...(await watchIdle(name, bridge))];
  } finally {
    await bridge.stop();
  }
}

/** With many contracts: the memory that taking them in leaves, and what a start on them has. */
async function measureFull({ program, args, databaseUrl }: Bench): Promise<Row[]> {
  const contracts = Number(values.contracts);
  const bridge = await program.start(args);
  const rows: Row[] = [];
  try {
    await deliver(bridge.receiverUrl, contracts);
    await untilQuiet(bridge);
    await wait(threadEndsMs);
    rows.push(...toMemoryRows(`SQLite, after ${contracts} contracts came`, bridge.usage()));
  } finally {
    await bridge.stop();
  }
  const sweeping = await program.start(args);
  await wait(settleMs);
  await sweeping.stop();
  postponeBudgets(databaseUrl);
  const again = await program.start(args);
  try {
    return [...rows, ...(await watchIdle(`SQLite, started on ${contracts} contracts`, again))];
  } finally {
    await again.stop();
  }
}

/** As if they had been read today. A start makes them due, and reading ten a second takes minutes: that is not idle. */
function postponeBudgets(databaseUrl: string): void {
  const file = new SqliteDatabase(databaseUrl.slice('sqlite:'.length));
  const tomorrow = new Date(Date.now() + 24 * 3_600_000).toISOString();
  file.prepare("update job set due_at = ? where kind = 'budget'").run(tomorrow);
  file.close();
}

async function deliver(receiverUrl: string, contracts: number): Promise<void> {
  const createdAt = minutesAgo(1);
  let next = 0;
  async function deliverOnes(): Promise<void> {
    for (let number = next++; number < contracts; number = next++) {
      const project = `project-${number % 100}`;
      const body = toBody({
        type: 'contract.started',
        number,
        contract: `ctr${number}`,
        trainer: `usr${number}`,
        project,
        createdAt,
      });
      const headers = {
        'content-type': 'application/json',
        'x-opentrain-delivery': `delivery-${number}`,
        'x-opentrain-signature': sign(body, secret, Math.floor(Date.now() / 1000)),
      };
      const answer = await fetch(`${receiverUrl}/webhooks/acme`, { method: 'POST', headers, body });
      if (!answer.ok) throw new Error(`a delivery was answered ${answer.status}: ${await answer.text()}`);
    }
  }
  await Promise.all(Array.from({ length: atOnce }, deliverOnes));
}

/** Once it does no more than it does for ever. */
async function watchIdle(name: string, bridge: MeasuredProcess): Promise<Row[]> {
  await untilQuiet(bridge);
  const [begunAt, begun] = [performance.now(), bridge.usage()];
  await wait(Number(values.seconds) * 1000);
  const usage = bridge.usage();
  const share = (usage.cpuMs - begun.cpuMs) / (performance.now() - begunAt);
  return [...toMemoryRows(name, usage), [`${name}: % of a core`, (share * 100).toFixed(2)]];
}

function toMemoryRows(name: string, { residentMiB, anonymousMiB }: Usage): Row[] {
  return [
    [`${name}: resident MiB`, residentMiB.toFixed(0)],
    [`${name}: anonymous MiB`, anonymousMiB.toFixed(0)],
  ];
}

/** For as long as it takes a tenth of a core: at most two minutes. */
async function untilQuiet(bridge: MeasuredProcess): Promise<void> {
  for (let tries = 0; tries < 60; tries += 1) {
    const { cpuMs } = bridge.usage();
    await wait(2000);
    if (bridge.usage().cpuMs - cpuMs < 200) break;
  }
  await wait(settleMs);
}
