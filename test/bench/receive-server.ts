import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createApp } from '../../src/app/app.ts';
import { openStorage } from '../../src/app/storage.ts';
import { Config } from '../../src/config/config-schema.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { keepMemorySmall } from '../../src/lib/small-heap.ts';
import { createBenchTool } from './bench-tool.ts';
import { startProfile } from './profile.ts';

/**
 * One of the servers that `receive.ts` measures, in a process of its own: `node receive-server.ts
 * <kind> <secret> [database url] [retention]`. Tells its parent `{ port }` when it listens; asked
 * for `calls`, it answers when each trainer was first added to the tool; for `processor`, how many microseconds it has used up to now, in all threads;
 * for `profile`, where the thread that answers has spent its time since that was asked before.
 */
const [kind = '', secret = '', databaseUrl = '', retention = '30d'] = process.argv.slice(2);

const unlimited = { deliveriesPerMinute: 1e9, bytesPerMinute: '999TiB', storedBytes: '999TiB' };

async function startGangway(): Promise<Listening> {
  keepMemorySmall();
  const calls = new Map<string, number>();
  const config = Config.parse({
    // What the machine can do is measured, and not what one install may have of it.
    receiver: { host: '127.0.0.1', port: 0, drain: '0s', limits: unlimited },
    console: { port: 0 },
    database: { url: databaseUrl },
    installs: { acme: { token: 'none', webhookSecrets: [secret], tool: 'studio' } },
    tools: { studio: { adapter: 'instant' } },
    retention: { deliveries: retention },
  });
  const storage = await openStorage(databaseUrl);
  const logger = createLogger({ level: 'error', destination: process.stderr });
  const { adapter } = createBenchTool({
    onAdd: (trainerId) => void calls.set(trainerId, performance.timeOrigin + performance.now()),
  });
  const adapters = new Map([['studio', adapter]]);
  const app = createApp({ config, storage, logger, adapters });
  const { receiverUrl } = await app.start();
  process.on('message', (asked) => {
    if (asked === 'calls') process.send?.(Object.fromEntries(calls));
  });
  return { port: Number(new URL(receiverUrl).port) };
}

interface Listening {
  port: number;
}

async function startListener(listener: RequestListener): Promise<Listening> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port };
}

/** The rivals are loaded only where one is asked for, so that they are not in Gangway's memory. */
async function startRival(): Promise<Listening | { notRun: string }> {
  const rivals = await import('./rivals.ts');
  const file = databaseUrl.slice('sqlite:'.length);
  const starts = new Map([
    ['bare', () => startListener(rivals.bare)],
    ['read', () => startListener(rivals.createExpress({}))],
    ['verify', () => startListener(rivals.createExpress({ secret }))],
    ['commit', () => startListener(rivals.createExpress({ secret, store: rivals.createCommitting(file) }))],
    ['octokit', () => startListener(rivals.createOctokit(secret))],
    ['debian', () => rivals.startDebianWebhook(secret)],
  ]);
  const start = starts.get(kind);
  if (start === undefined) throw new Error(`no such server: ${kind}`);
  return await start();
}

let stopProfile: Awaited<ReturnType<typeof startProfile>> | undefined;
process.on('message', async (asked) => {
  const { user, system } = process.cpuUsage();
  if (asked === 'processor') process.send?.(user + system);
  if (asked !== 'profile') return;
  process.send?.((await stopProfile?.()) ?? []);
  stopProfile = stopProfile === undefined ? await startProfile() : undefined;
});
process.on('disconnect', () => process.exit(0));
process.send?.(await (kind === 'gangway' ? startGangway() : startRival()));
