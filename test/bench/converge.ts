import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Adapter } from '../../src/adapters/adapter.ts';
import { type App, createApp } from '../../src/app/app.ts';
import { type OpenStorage, openStorage } from '../../src/app/storage.ts';
import { Config } from '../../src/config/config-schema.ts';
import { appendDeliveries } from '../../src/inbox/append-store.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { newDelivery } from '../support/deliveries.ts';
import { type ContractEvent, toBody } from '../support/lifecycle-events.ts';
import { databaseOptions, say, startTable, toSeconds } from './bench.ts';
import { type BenchDatabase, withBenchDatabases } from './bench-database.ts';
import { type BenchTool, createBenchTool } from './bench-tool.ts';
import { type IdleMarketplace, openIdleMarketplace } from './idle-marketplace.ts';

/**
 * `npm run bench:converge`: how much time bringing a tool in line takes beyond the tool's own.
 *
 * A thousand people are hired and then let go in a tool that takes 50 ms for each answer, at the
 * default concurrency of 8, by the whole of Gangway: stored deliveries, evidence, brake, intents on
 * disk, receipts. Each membership needs three calls one after the other (look, change, read back),
 * so the tool alone takes members x 3 x 50 ms / 8: that is the ideal. Before ends take effect, what is
 * active is listed by a marketplace that answers as slowly: so often is said too. `--postgres` for
 * PostgreSQL.
 */
const { values } = parseArgs({
  options: {
    members: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '1' },
    ...databaseOptions,
  },
});
const members = Number(values.members);
const answerMs = 50;
const callsEach = 3;
const concurrency = 8;
const idealMs = (members * callsEach * answerMs) / concurrency;

say(`${members} members, answers after ${answerMs} ms, ideal ${toSeconds(idealMs, 2)} s`);
const print = startTable(8, ['wall s', 'ratio', 'calls', 'slots in use', 'tool ms/call', 'own CPU s', 'lists']);

await withBenchDatabases(values, main);

async function main(databases: BenchDatabase): Promise<void> {
  const marketplace = await openIdleMarketplace({ answerMs });
  try {
    for (let round = 0; round < Number(values.rounds); round += 1) {
      await runRound(databases, round, marketplace);
    }
  } finally {
    marketplace.close();
  }
}

async function runRound(databases: BenchDatabase, round: number, marketplace: IdleMarketplace): Promise<void> {
  const storage = await openStorage(await databases.create(`round_${round}`), randomBytes(32));
  try {
    const tool = createBenchTool({ answerMs });
    await measure('adding', storage, { tool, marketplace }, 'contract.started');
    if (tool.countMembers() !== members) throw new Error('not everybody was added');
    await measure('removing', storage, { tool, marketplace }, 'contract.ended');
    if (tool.countMembers() !== 0) throw new Error('not everybody was removed');
  } finally {
    await storage.database.close();
  }
}

/** The deliveries are stored before it starts, so that what is measured begins at one moment. */
async function measure(
  what: string,
  storage: OpenStorage,
  { tool, marketplace }: { tool: BenchTool; marketplace: IdleMarketplace },
  type: ContractEvent['type'],
): Promise<void> {
  await storeDeliveries(storage, type);
  const before = tool.measured();
  const listsBefore = marketplace.lists();
  const app = createBenchApp(storage, tool.adapter, marketplace.baseUrl);
  await app.start();
  const begunAt = performance.now();
  const cpu = process.cpuUsage();
  await untilSettled(storage, type === 'contract.started' ? 'active' : 'removed');
  const wallMs = performance.now() - begunAt;
  const { user, system } = process.cpuUsage(cpu);
  await app.stop();
  const calls = tool.measured().calls - before.calls;
  const busyMs = tool.measured().busyMs - before.busyMs;
  print(what, [
    toSeconds(wallMs, 2),
    (wallMs / idealMs).toFixed(3),
    String(calls),
    `${((100 * busyMs) / wallMs / concurrency).toFixed(1)} %`,
    (busyMs / calls).toFixed(1),
    toSeconds((user + system) / 1000, 2),
    String(marketplace.lists() - listsBefore),
  ]);
}

function createBenchApp(storage: OpenStorage, adapter: Adapter, baseUrl: string): App {
  const config = Config.parse({
    receiver: { host: '127.0.0.1', port: 0, drain: '0s' },
    console: { port: 0 },
    marketplace: { baseUrl },
    installs: { acme: { token: 'none', webhookSecrets: ['whsec_bench'], tool: 'studio' } },
    tools: { studio: { adapter: 'slow', concurrency } },
    removals: { max: members, maxFraction: 1 },
  });
  const logger = createLogger({ level: 'error', destination: process.stderr });
  return createApp({ config, storage, logger, adapters: new Map([['studio', adapter]]) });
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
