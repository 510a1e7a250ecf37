import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { loadAdapters } from '../adapters/load-adapters.ts';
import { createApp } from '../app/app.ts';
import { openStorage } from '../app/storage.ts';
import { Config } from '../config/config-schema.ts';
import { createLogger } from '../lib/logger.ts';
import { createSandbox } from '../sandbox/sandbox.ts';
import type { Session } from './session.ts';
import type { Terminal } from './terminal.ts';
import { prepareCustomer, takeFreePort } from './try-customer.ts';
import { takeTour } from './try-tour.ts';

/** Begins from nothing each time, in a folder that git ignores. */
const folder = path.resolve('.gangway', 'try');

/** The console listens on loopback alone. */
const alwaysSignedIn = { name: 'you', role: 'operator' } as const;

/** `gangway try`: everything on this machine, with a simulated marketplace. */
export async function runTry(
  { exit, json }: { exit: boolean; json: boolean },
  { terminal }: Session,
): Promise<undefined> {
  const print = (line: string) => terminal.stdout.write(`${line}\n`);
  const say = json ? () => undefined : print;
  await rm(folder, { recursive: true, force: true });
  const sandbox = createSandbox();
  const marketplace = await sandbox.start();
  try {
    const port = await takeFreePort();
    const customer = await prepareCustomer(sandbox, marketplace.baseUrl, port);
    const rosterFile = path.join(folder, 'roster.json');
    const config = Config.parse({
      receiver: { host: '127.0.0.1', port, publicUrl: `http://127.0.0.1:${port}`, drain: '0s' },
      console: { port: 0 },
      database: { url: `sqlite:${path.join(folder, 'gangway.db')}` },
      marketplace: { baseUrl: marketplace.baseUrl },
      installs: {
        demo: { token: customer.token, webhookSecrets: [customer.secret], tool: 'roster' },
      },
      tools: { roster: { adapter: 'roster', path: rosterFile } },
    });
    const adapters = await loadAdapters(config);
    const storage = await openStorage(config.database.url);
    const logger = createLogger({ level: 'warn', destination: terminal.stderr });
    const app = createApp({ config, storage, logger, adapters, alwaysSignedIn });
    try {
      const addresses = await app.start();
      say('Gangway, tried out on this machine: a simulated marketplace, the bridge, and a roster.');
      say('');
      say(`  marketplace  ${marketplace.url}`);
      say(`  receiver     ${addresses.receiverUrl}/webhooks/demo`);
      say(`  console      ${addresses.consoleUrl}`);
      say(`  roster       ${rosterFile}`);
      say('');
      await takeTour({ sandbox, storage, jobId: customer.jobId, rosterFile, say });
      if (json) print(JSON.stringify({ marketplaceUrl: marketplace.url, ...addresses, rosterFile }));
      if (!exit) await stay(terminal, marketplace.url, say);
    } finally {
      await app.stop();
      await storage.database.close();
    }
  } finally {
    await sandbox.stop();
  }
}

async function stay(terminal: Terminal, url: string, say: (line: string) => void): Promise<void> {
  say('');
  say('It keeps running. In another terminal, hire a trainer and watch the roster:');
  say(`  npm run --silent gangway -- sandbox hire --url ${url}`);
  say('Stop it with Ctrl-C.');
  if (!terminal.signal.aborted) await once(terminal.signal, 'abort');
}
