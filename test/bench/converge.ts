import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Adapter } from '../../src/adapters/adapter.ts';
import { loadAdapters } from '../../src/adapters/load-adapters.ts';
import { type App, createApp } from '../../src/app/app.ts';
import { type OpenStorage, openStorage } from '../../src/app/storage.ts';
import { Config } from '../../src/config/config-schema.ts';
import { appendDeliveries } from '../../src/inbox/append-store.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { keepMemorySmall } from '../../src/lib/small-heap.ts';
import { newDelivery } from '../support/deliveries.ts';
import { type ContractEvent, toBody } from '../support/lifecycle-events.ts';
import { ask, databaseOptions, forkScript, say, startTable, toSeconds } from './bench.ts';
import { type BenchDatabase, withBenchDatabases } from './bench-database.ts';
import { createBenchTool } from './bench-tool.ts';
import { countWork } from './count-work.ts';
import { type IdleMarketplace, openIdleMarketplace } from './idle-marketplace.ts';
import { startProfile, toProfileLines } from './profile.ts';

/**
 * `npm run bench:converge`: how much time bringing a tool in line takes beyond the tool's own, and what it costs.
 *
 * People are hired and then let go, all at once, at the default concurrency of 8, by the whole of Gangway: stored
 * deliveries, evidence, brake, intents on disk, receipts. The tool is in memory and needs three calls for each
 * membership one after the other (look, change, read back), so it alone takes members x 3 x answer / 8: that is the
 * ideal. Before ends take effect, what is active is listed by a marketplace that answers as slowly: so often is said too.
 * For each hire and each end it prints the processor time of the whole process, the statements, the queries that Kysely
 * has built, and the functions that take most.
 *
 * `--answer 0` for a tool that answers at once; `--tool roster` for a file, `--tool http` for a server in a process of its
 * own, which both answer as soon as they can; `--postgres` for PostgreSQL.
 */
const { values } = parseArgs({
  options: {
    members: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '1' },
    answer: { type: 'string', default: '50' },
    tool: { type: 'string', default: 'memory' },
    ...databaseOptions,
  },
});
const members = Number(values.members);
const answerMs = Number(values.answer);
const callsEach = 3;
const concurrency = 8;
const idealMs = (members * callsEach * answerMs) / concurrency;

say(`${members} members, ${values.tool}, answers after ${answerMs} ms, ideal ${toSeconds(idealMs, 2)} s`);
const titles = [
  'wall s',
  'per s',
  'calls',
  'slots in use',
  'CPU ms each',
  'statements each',
  'queries built each',
  'lists',
];
const print = startTable(8, titles);
const readWork = countWork();

// As the bridge does.
keepMemorySmall();
await withBenchDatabases(values, main);

async function main(databases: BenchDatabase, folder: string): Promise<void> {
  const marketplace = await openIdleMarketplace({ answerMs });
  const server = values.tool === 'http' ? forkScript('tool-process.ts') : undefined;
  try {
    const settings = server === undefined ? toSettings(folder) : toHttpSettings(await ask<string>(server, 'url'));
    for (let round = 0; round < Number(values.rounds); round += 1) {
      await runRound(databases, round, { marketplace, settings });
    }
  } finally {
    marketplace.close();
    server?.kill();
  }
}

interface Surroundings {
  marketplace: IdleMarketplace;
  /** Of the tool. */
  settings: object;
}

function toSettings(folder: string): object {
  return values.tool === 'roster'
    ? { adapter: 'roster', path: path.join(folder, 'roster.json') }
    : { adapter: path.join(import.meta.dirname, 'memory-adapter.ts') };
}

function toHttpSettings(url: string): object {
  const member = '/groups/{group}/{trainerId}';
  return {
    adapter: 'http',
    url,
    offboarding: 'locks_out',
    member: { id: 'id', email: 'email' },
    requests: {
      check: { path: '/' },
      find: { path: member, items: 'member', pages: { by: 'none' } },
      add: { method: 'PUT', path: member, item: 'member', present: [] },
      remove: { method: 'DELETE', path: '/groups/{group}/{memberId}' },
    },
  };
}

/** The people are let go by a new process: only what is stored is known. */
async function runRound(
  databases: BenchDatabase,
  round: number,
  { marketplace, settings }: Surroundings,
): Promise<void> {
  const storage = await openStorage(await databases.create(`round_${round}`), randomBytes(32));
  try {
    const config = toConfig(marketplace.baseUrl, settings);
    const tool = createBenchTool({ answerMs });
    const adapters = values.tool === 'memory' ? new Map([['studio', tool.adapter]]) : await loadAdapters(config);
    const bench = { storage, config, adapters, measured: tool.measured, lists: marketplace.lists };
    await measure(bench, 'contract.started');
    await measure(bench, 'contract.ended');
    if (tool.countMembers() !== 0) throw new Error('not everybody was removed');
  } finally {
    await storage.database.close();
  }
}

interface Bench extends Pick<IdleMarketplace, 'lists'> {
  storage: OpenStorage;
  config: Config;
  adapters: ReadonlyMap<string, Adapter>;
  measured: ReturnType<typeof createBenchTool>['measured'];
}

/** The deliveries are stored before it starts, so that what is measured begins at one moment. */
async function measure(bench: Bench, type: ContractEvent['type']): Promise<void> {
  const { storage } = bench;
  await storeDeliveries(storage, type);
  const [toolBefore, listsBefore] = [bench.measured(), bench.lists()];
  const app = createBenchApp(bench);
  await app.start();
  const stopProfile = await startProfile();
  const [workBefore, begunAt, cpuBefore] = [readWork(), performance.now(), process.cpuUsage()];
  await untilSettled(storage, type === 'contract.started' ? 'active' : 'removed');
  const [wallMs, cpu, work] = [performance.now() - begunAt, process.cpuUsage(cpuBefore), readWork()];
  const functions = await stopProfile();
  await app.stop();
  const calls = bench.measured().calls - toolBefore.calls;
  const busyMs = bench.measured().busyMs - toolBefore.busyMs;
  const each = (sum: number, digits: number) => (sum / members).toFixed(digits);
  print(type === 'contract.started' ? 'hires' : 'ends', [
    toSeconds(wallMs, 2),
    ((1000 * members) / wallMs).toFixed(0),
    String(calls),
    `${((100 * busyMs) / wallMs / concurrency).toFixed(1)} %`,
    each((cpu.user + cpu.system) / 1000, 2),
    each(work.statements - workBefore.statements, 1),
    each(work.queries - workBefore.queries, 1),
    String(bench.lists() - listsBefore),
  ]);
  for (const line of toProfileLines(functions, members)) say(line);
}

function toConfig(baseUrl: string, settings: object): Config {
  return Config.parse({
    receiver: { host: '127.0.0.1', port: 0, drain: '0s' },
    console: { port: 0 },
    marketplace: { baseUrl },
    installs: { acme: { token: 'none', webhookSecrets: ['whsec_bench'], tool: 'studio' } },
    tools: { studio: { ...settings, concurrency } },
    removals: { max: members, maxFraction: 1 },
  });
}

function createBenchApp({ storage, config, adapters }: Bench): App {
  const logger = createLogger({ level: 'error', destination: process.stderr });
  return createApp({ config, storage, logger, adapters });
}

async function storeDeliveries(ctx: OpenStorage, type: ContractEvent['type']): Promise<void> {
  const now = new Date().toISOString();
  const deliveries = Array.from({ length: members }, (_, index) => {
    const number = type === 'contract.started' ? index : members + index;
    const [contract, trainer] = [`ctr${index}`, `usr${index}`];
    const project = 'street-signs';
    const body = toBody({ type, number, contract, trainer, project, createdAt: now });
    return newDelivery(body, { receivedAt: now, deliveryId: `dlv${number}` });
  });
  for (let begin = 0; begin < members; begin += 100) {
    await appendDeliveries(ctx, deliveries.slice(begin, begin + 100));
  }
}

async function untilSettled({ database }: OpenStorage, state: 'active' | 'removed'): Promise<void> {
  for (;;) {
    const { n } = await database.kysely
      .selectFrom('membership')
      .select((eb) => eb.fn.countAll<number>().as('n'))
      .where('state', '=', state)
      .where('leaseToken', 'is', null)
      .executeTakeFirstOrThrow();
    if (Number(n) === members) return;
    await wait(50);
  }
}
