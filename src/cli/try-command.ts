import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { loadAdapters } from '../adapters/load-adapters.ts';
import { createApp } from '../app/app.ts';
import { openStorage } from '../app/storage.ts';
import { Config } from '../config/config-schema.ts';
import { createLogger } from '../lib/logger.ts';
import { createSandbox, type Sandbox } from '../sandbox/sandbox.ts';
import type { Session } from './session.ts';
import type { Terminal } from './terminal.ts';
import { configureAccount, prepareAccount, wantFirstReading } from './try-account.ts';
import { prepareCustomer, takeFreePort } from './try-customer.ts';
import { type Tour, takeTour, takeTourOfAccount } from './try-tour.ts';

/** Begins from nothing each time, in a folder that git ignores. */
const folder = path.resolve('.gangway', 'try');

/** The console listens on loopback alone. */
const alwaysSignedIn = { name: 'you', role: 'operator' } as const;

export interface TryOptions {
  exit: boolean;
  json: boolean;
  employer: boolean;
}

/** `gangway try`: everything on this machine, with a simulated marketplace. */
export async function runTry({ exit, json, employer }: TryOptions, { terminal }: Session): Promise<undefined> {
  const print = (line: string) => terminal.stdout.write(`${line}\n`);
  const say = json ? () => undefined : print;
  await rm(folder, { recursive: true, force: true });
  const sandbox = createSandbox();
  const marketplace = await sandbox.start();
  try {
    const trial = employer ? tryAccount(sandbox, marketplace) : await tryCustomer(sandbox, marketplace);
    const rosterFile = path.join(folder, 'roster.json');
    const config = Config.parse({
      console: { port: 0 },
      database: { url: `sqlite:${path.join(folder, 'gangway.db')}` },
      marketplace: { baseUrl: marketplace.baseUrl, employerBaseUrl: marketplace.employerBaseUrl },
      tools: { roster: { adapter: 'roster', path: rosterFile } },
      ...trial.settings,
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
      say(trial.describeWay(addresses.receiverUrl));
      say(`  console      ${addresses.consoleUrl}`);
      say(`  roster       ${rosterFile}`);
      say('');
      await trial.take({ storage, rosterFile, say });
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

/** Who tries it: what is configured for them, how the marketplace's news come, and their tour. */
interface Trial {
  settings: object;
  describeWay(receiverUrl: string): string;
  take(tour: Tour): Promise<void>;
}

type Started = Awaited<ReturnType<Sandbox['start']>>;

async function tryCustomer(sandbox: Sandbox, { baseUrl }: Started): Promise<Trial> {
  const port = await takeFreePort();
  const { token, secret, jobId } = await prepareCustomer(sandbox, baseUrl, port);
  return {
    settings: {
      receiver: { host: '127.0.0.1', port, publicUrl: `http://127.0.0.1:${port}`, drain: '0s' },
      installs: { demo: { token, webhookSecrets: [secret], tool: 'roster' } },
    },
    describeWay: (receiverUrl) => `  receiver     ${receiverUrl}/webhooks/demo`,
    take: (tour) => takeTour(tour, { sandbox, jobId }),
  };
}

function tryAccount(sandbox: Sandbox, { employerBaseUrl }: Started): Trial {
  const account = prepareAccount(sandbox, employerBaseUrl);
  return {
    settings: { receiver: { host: '127.0.0.1', port: 0, drain: '0s' }, ...configureAccount(account) },
    describeWay: () => '  webhook      none: Gangway asks, and nothing has to reach this machine',
    async take(tour) {
      await wantFirstReading(tour.storage);
      await takeTourOfAccount(tour, { sandbox, account });
    },
  };
}

async function stay(terminal: Terminal, url: string, say: (line: string) => void): Promise<void> {
  say('');
  say('It keeps running. In another terminal, hire a trainer and watch the roster:');
  say(`  npm run --silent gangway -- sandbox hire --url ${url}`);
  say('Stop it with Ctrl-C.');
  if (!terminal.signal.aborted) await once(terminal.signal, 'abort');
}
