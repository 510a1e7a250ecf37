import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createAdapter } from '../../src/adapters/load-adapters.ts';
import { createApp } from '../../src/app/app.ts';
import { openStorage } from '../../src/app/storage.ts';
import { Config } from '../../src/config/config-schema.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { toBody } from '../support/lifecycle-events.ts';
import { sign } from '../support/sign.ts';
import { accountSettings, openAccountTool } from './account-tool.ts';
import { withBenchDatabases } from './bench-database.ts';
import type { FloodOrder } from './hostile-load-process.ts';
import { percentile } from './percentile.ts';

/**
 * `npm run bench:hostile`: what one customer's flood costs another.
 *
 * Two customers on one tool, which is reached by the adapter `http` on loopback. One hires now and
 * then, and it is measured how long it takes from sending the delivery until the person is in: by
 * turns while the other is silent, and while it forges as much as it can in a process of its own,
 * with a burst at first. Fails where the 95th percentile is more than `--most` times the quiet one.
 * `--postgres` for PostgreSQL.
 */
const { values } = parseArgs({
  options: {
    hires: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '2' },
    burst: { type: 'string', default: '600' },
    rate: { type: 'string', default: '50' },
    most: { type: 'string', default: '3' },
    postgres: { type: 'boolean', default: false },
    folder: { type: 'string', default: '.' },
  },
});
const pauseMs = 250;
/** Whoever is not in by then counts as having waited so long. */
const patienceMs = 60_000;
const secrets = { honest: 'whsec_aG9uZXN0', hostile: 'whsec_aG9zdGlsZQ' };

await withBenchDatabases(values, async (databases) => {
  const quiet: number[] = [];
  const flooded: number[] = [];
  for (let round = 0; round < Number(values.rounds); round += 1) {
    quiet.push(...(await measure(await databases.create(`quiet_${round}`), false)));
    flooded.push(...(await measure(await databases.create(`flooded_${round}`), true)));
  }
  const ratio = percentile(flooded, 0.95) / percentile(quiet, 0.95);
  say('            hires   p50 ms   p95 ms   max ms');
  report('quiet', quiet);
  report('flooded', flooded);
  say(`flooded p95 / quiet p95: ${ratio.toFixed(2)} (at most ${values.most})`);
  if (ratio > Number(values.most)) process.exitCode = 1;
});

/** @returns milliseconds from each hire to access */
async function measure(databaseUrl: string, isFlooded: boolean): Promise<number[]> {
  const tool = await openAccountTool();
  const sandbox = createSandbox({ seed: 'bench' });
  const { baseUrl } = await sandbox.start();
  const storage = await openStorage(databaseUrl, randomBytes(32));
  const logger = createLogger({ level: 'silent', destination: process.stderr });
  const adapters = new Map([['studio', createAdapter('studio', 'http', accountSettings(tool))]]);
  const install = (name: keyof typeof secrets, projects: string[]) => ({
    token: sandbox.createInstall().token,
    webhookSecrets: [secrets[name]],
    tool: 'studio',
    projects,
  });
  const config = Config.parse({
    receiver: { host: '127.0.0.1', port: 0, drain: '0s' },
    console: { port: 0 },
    marketplace: { baseUrl },
    installs: { honest: install('honest', ['b-*']), hostile: install('hostile', ['a-*']) },
    tools: { studio: { adapter: 'given' } },
  });
  const app = createApp({ config, storage, logger, adapters });
  const { receiverUrl } = await app.start();
  const flood = isFlooded ? startFlood(`${receiverUrl}/webhooks/hostile`) : null;
  // The burst is under way, or nothing is.
  await wait(1000);
  const untilIn = watchJoins(tool);
  const hires = Array.from({ length: Number(values.hires) }, async (_, number) => {
    await wait(number * pauseMs);
    return await hire(untilIn, `${receiverUrl}/webhooks/honest`, number);
  });
  const tookMs = await Promise.all(hires);
  await stopFlood(flood);
  await app.stop();
  await storage.database.close();
  await sandbox.stop();
  tool.close();
  return tookMs;
}

async function hire(untilIn: ReturnType<typeof watchJoins>, url: string, number: number): Promise<number> {
  const [contract, trainer] = [`ctr-h${number}`, `usr-h${number}`];
  const createdAt = new Date().toISOString();
  const event = { number, contract, trainer, project: 'b-1', createdAt };
  const body = toBody({ type: 'contract.started', ...event });
  const signature = sign(body, secrets.honest, Math.floor(Date.now() / 1000));
  const headers = { 'content-type': 'application/json', 'x-opentrain-signature': signature };
  const isIn = untilIn(`${trainer}@opentrain.work`);
  const beganAt = performance.now();
  const { status } = await fetch(url, { method: 'POST', body, headers });
  if (status !== 200) throw new Error(`an honest delivery was answered ${status}`);
  await Promise.race([isIn, wait(patienceMs, undefined, { ref: false })]);
  return performance.now() - beganAt;
}

/** @returns what resolves when the tool has let an address in */
function watchJoins(tool: Awaited<ReturnType<typeof openAccountTool>>) {
  const waiting = new Map<string, () => void>();
  tool.watch((call) => {
    const [, email = ''] = /^POST .*"email":"([^"]+)".* → 201$/.exec(call) ?? [];
    waiting.get(email)?.();
  });
  return (email: string): Promise<void> => new Promise((resolve) => void waiting.set(email, resolve));
}

function startFlood(url: string): ChildProcess {
  const child = fork(path.join(import.meta.dirname, 'hostile-load-process.ts'));
  const { burst, rate } = values;
  const order: FloodOrder = { url, secret: secrets.hostile, burst: Number(burst), rate: Number(rate) };
  child.send(order);
  return child;
}

async function stopFlood(child: ChildProcess | null): Promise<void> {
  if (child === null) return;
  const result = once(child, 'message');
  child.send('stop');
  say(`forged deliveries by answer: ${JSON.stringify((await result)[0])}`);
  child.disconnect();
}

function report(name: string, all: readonly number[]): void {
  const cells = [0.5, 0.95, 1].map((share) => percentile(all, share).toFixed(0).padStart(8));
  say(`${name.padEnd(10)} ${String(all.length).padStart(6)} ${cells.join(' ')}`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
