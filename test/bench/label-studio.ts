import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createAdapter } from '../../src/adapters/load-adapters.ts';
import { createApp } from '../../src/app/app.ts';
import { type OpenStorage, openStorage } from '../../src/app/storage.ts';
import { Config } from '../../src/config/config-schema.ts';
import { appendDeliveries } from '../../src/inbox/append-store.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { newDelivery } from '../support/deliveries.ts';
import { toBody } from '../support/lifecycle-events.ts';
import { type LabelStudioServer, openLabelStudio } from '../tools/label-studio-server.ts';
import { type BenchDatabase, withBenchDatabases } from './bench-database.ts';

/**
 * `npm run bench:label-studio`: many who are hired at once, in a Label Studio that is too small.
 *
 * A real server of its own for each run, stopped for 70 of every 100 ms; accounts made by the sign-up
 * form. Compared are what a tool may be asked at once: two, and the default of eight, from which
 * Gangway takes what the server keeps up with.
 */
const { values } = parseArgs({
  options: {
    people: { type: 'string', default: '40' },
    share: { type: 'string', default: '0.3' },
    /** Accounts that are there before: lists grow with them. */
    before: { type: 'string', default: '0' },
    concurrency: { type: 'string', default: '2,8' },
    minutes: { type: 'string', default: '15' },
    postgres: { type: 'boolean', default: false },
    folder: { type: 'string', default: '.' },
  },
});
const people = Number(values.people);
const longestMs = Number(values.minutes) * 60_000;

await withBenchDatabases(values, main);

async function main(databases: BenchDatabase): Promise<void> {
  say(`${people} people, ${values.before} accounts before, ${values.share} of a core`);
  say('at once   wall s   in   accounts   failed tries   s/person');
  for (const concurrency of values.concurrency.split(',').map(Number)) {
    const server = await openLabelStudio();
    if (server === null) throw new Error('Label Studio could not be installed');
    try {
      await run(databases, server, concurrency);
    } finally {
      await server.stop();
    }
  }
}

async function run(databases: BenchDatabase, server: LabelStudioServer, concurrency: number): Promise<void> {
  const project = await server.api<{ id: number }>('POST', '/api/projects/', { title: 'Signs' });
  for (let index = 0; index < Number(values.before); index += 1) {
    const email = `before.${index}@example.com`;
    await server.api('POST', '/api/users/', { username: email, email });
  }
  const token = await server.personalToken();
  const storage = await openStorage(await databases.create(`at_once_${concurrency}`), randomBytes(32));
  try {
    await storeHires(storage, String(project.id));
    const app = createBenchApp(storage, { url: server.url, token }, concurrency);
    server.slowDown(Number(values.share));
    const begunAt = performance.now();
    await app.start();
    const isIn = await untilIn(storage, begunAt + longestMs);
    const wallMs = performance.now() - begunAt;
    await app.stop();
    server.slowDown(1);
    const users = await server.api<unknown[]>('GET', '/api/users/');
    const cells = [
      String(concurrency).padStart(7),
      (wallMs / 1000).toFixed(1).padStart(8),
      String(isIn).padStart(4),
      String(users.length - 1 - Number(values.before)).padStart(10),
      String(await countFailures(storage)).padStart(14),
      (wallMs / 1000 / Math.max(1, isIn)).toFixed(2).padStart(10),
    ];
    say(cells.join(' '));
  } finally {
    await storage.database.close();
  }
}

function createBenchApp(storage: OpenStorage, { url, token }: { url: string; token: string }, concurrency: number) {
  const config = Config.parse({
    receiver: { host: '127.0.0.1', port: 0 },
    console: { port: 0 },
    // Nobody listens there: nothing has to be asked.
    marketplace: { baseUrl: 'http://127.0.0.1:9/api/partner/v1' },
    installs: { acme: { token: 'none', webhookSecrets: ['whsec_bench'], tool: 'studio' } },
    tools: { studio: { adapter: 'label-studio', concurrency } },
  });
  const settings = { url, token, onboarding: 'sign_up', offboarding: 'delete_user' };
  const adapter = createAdapter('studio', 'label-studio', settings);
  const logger = createLogger({ level: 'error', destination: process.stderr });
  return createApp({ config, storage, logger, adapters: new Map([['studio', adapter]]) });
}

async function storeHires(ctx: OpenStorage, project: string): Promise<void> {
  const now = new Date().toISOString();
  const deliveries = Array.from({ length: people }, (_, number) => {
    const [contract, trainer] = [`ctr${number}`, `usr${number}`];
    const type = 'contract.started';
    const body = toBody({ type, number, contract, trainer, project, createdAt: now });
    return newDelivery(body, { receivedAt: now, deliveryId: `dlv${number}` });
  });
  await appendDeliveries(ctx, deliveries);
}

async function untilIn({ database }: OpenStorage, deadline: number): Promise<number> {
  for (;;) {
    const { n } = await database.kysely
      .selectFrom('membership')
      .select((eb) => eb.fn.countAll<number>().as('n'))
      .where('state', '=', 'active')
      .executeTakeFirstOrThrow();
    if (Number(n) === people || performance.now() > deadline) return Number(n);
    await wait(100);
  }
}

async function countFailures({ database }: OpenStorage): Promise<number> {
  const { n } = await database.kysely
    .selectFrom('receipt')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('outcome', 'in', ['failed', 'refused'])
    .executeTakeFirstOrThrow();
  return Number(n);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
