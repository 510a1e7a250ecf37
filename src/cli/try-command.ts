import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { loadAdapters } from '../adapters/load-adapters.ts';
import { createApp } from '../app/app.ts';
import { openStorage } from '../app/storage.ts';
import { Config } from '../config/config-schema.ts';
import type { Storage } from '../context.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { platformEventTypes } from '../domain/event.ts';
import type { MembershipState } from '../domain/membership.ts';
import { listDeliveries } from '../inbox/delivery-list-store.ts';
import { systemClock, toInstant } from '../lib/clock.ts';
import { createLogger } from '../lib/logger.ts';
import { toLogDestination } from '../lib/readable-log.ts';
import { createClient } from '../marketplace/client.ts';
import { contracts } from '../marketplace/contract/contracts.ts';
import { projectLinks, webhookEndpoints } from '../marketplace/contract/platform.ts';
import { listMemberships } from '../memberships/membership-list-store.ts';
import { wantRead } from '../reconcile/read/install-state-store.ts';
import { createSandbox, type Sandbox } from '../sandbox/sandbox.ts';
import type { tryOptions } from './commands/inputs.ts';
import type { GivenOf } from './options.ts';
import type { Session, Terminal } from './session.ts';

/** Empty at each start, and ignored by git. */
const folder = path.resolve('.gangway', 'try');

const demoProject = 'street-signs';
const jobTitle = 'Street sign annotation';

/** The console listens only on the loopback. */
const alwaysSignedIn = { name: 'you', role: 'operator' } as const;

type TryOptions = GivenOf<typeof tryOptions>;

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
    const logger = createLogger({ level: 'warn', destination: toLogDestination('auto', terminal.stderr) });
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
      if (exit) say('It went well: the trainer got in with the contract, and is out again after it.');
      else await stay(terminal, marketplace.url, say);
    } finally {
      await app.stop();
      await storage.database.close();
    }
  } finally {
    await sandbox.stop();
  }
}

/** What is configured for whoever tries it, how news of the marketplace arrive, and the tour. */
interface Trial {
  settings: object;
  describeWay(receiverUrl: string): string;
  /** @throws AppError `internal` if one of the steps did not happen */
  take(tour: Tour): Promise<void>;
}

interface Tour {
  storage: Storage;
  rosterFile: string;
  say(line: string): void;
}

type Started = Awaited<ReturnType<Sandbox['start']>>;

/** A customer who has connected the bridge: a job linked to a project, and a webhook endpoint. */
async function tryCustomer(sandbox: Sandbox, { baseUrl }: Started): Promise<Trial> {
  const port = await takeFreePort();
  const { installId, token } = sandbox.createInstall();
  const { id: jobId } = sandbox.createJob({ installId, title: jobTitle });
  const endpoint = { url: `http://127.0.0.1:${port}/webhooks/demo`, eventTypes: platformEventTypes };
  const { call } = createClient({ baseUrl, token });
  const signal = AbortSignal.timeout(patienceMs);
  const { secret } = await call(webhookEndpoints.create, endpoint, signal);
  const externalProjectUrl = 'https://tool.example.com/projects/street-signs';
  const link = { externalProjectId: demoProject, externalProjectName: 'Street signs', externalProjectUrl, jobId };
  await call(projectLinks.create, link, signal);
  return {
    settings: {
      receiver: { host: '127.0.0.1', port, publicUrl: `http://127.0.0.1:${port}`, drain: '0s' },
      installs: { demo: { token, webhookSecrets: [secret], tool: 'roster' } },
    },
    describeWay: (receiverUrl) => `  receiver     ${receiverUrl}/webhooks/demo`,
    async take(tour) {
      const { contractId, trainers } = sandbox.hire({ jobId });
      tour.say(`1. A trainer is hired: contract ${contractId}, ${trainers[0]?.displayName ?? ''}`);
      await showStep(tour, 'delivery', 'contract.started', 'active');
      sandbox.endContract(contractId);
      tour.say(`2. The contract ends: ${contractId}`);
      await showStep(tour, 'delivery', 'contract.ended', 'removed');
    },
  };
}

/** An employer's own account with a job, where a person confirms the end. It has no webhook: nothing reaches this machine. */
function tryAccount(sandbox: Sandbox, { employerBaseUrl }: Started): Trial {
  const { accountId, token } = sandbox.createAccount();
  const { id: jobId } = sandbox.createJob({ accountId, title: jobTitle });
  return {
    settings: {
      receiver: { host: '127.0.0.1', port: 0, drain: '0s' },
      // The tour is short, so the feed is read each second.
      feed: { every: '1s' },
      installs: { demo: { source: 'employer', token, tool: 'roster', jobs: { [jobId]: demoProject } } },
    },
    describeWay: () => '  webhook      none: Gangway asks, and nothing has to reach this machine',
    async take(tour) {
      await wantFirstReading(tour.storage);
      const { contractId, trainers } = sandbox.hire({ jobId });
      tour.say(`1. You hire a trainer: contract ${contractId}, ${trainers[0]?.displayName ?? ''}`);
      await showStep(tour, 'feed', 'contract.created', 'active');
      sandbox.fundMilestone(contractId);
      const { call } = createClient({ baseUrl: employerBaseUrl, token });
      const { approval } = await call(contracts.end, { contractId }, AbortSignal.timeout(patienceMs));
      const approvalId = approval?.id ?? '';
      tour.say(`2. You ask for the end of ${contractId}: the approval ${approvalId} waits for a person`);
      await showRoster(tour);
      sandbox.resolveApproval(approvalId, 'confirmed');
      tour.say('3. A person confirms it at the marketplace');
      await showStep(tour, 'feed', 'approval.confirmed', 'removed');
    },
  };
}

/** The schedule would do so within a minute. */
async function wantFirstReading({ database }: Storage): Promise<void> {
  const now = toInstant(systemClock.now());
  await inTransaction(database, (tx) => wantRead(tx, ['demo'], now));
}

async function stay(terminal: Terminal, url: string, say: (line: string) => void): Promise<void> {
  say('It keeps running. In another terminal, hire a trainer and watch the roster:');
  say(`  npm run --silent gangway -- sandbox hire --url ${url}`);
  say('Stop it with Ctrl-C.');
  if (!terminal.signal.aborted) await once(terminal.signal, 'abort');
}

/** Waits for the event and for the membership that it leads to. */
async function showStep(
  tour: Tour,
  way: 'delivery' | 'feed',
  eventType: string,
  state: MembershipState,
): Promise<void> {
  const { database } = tour.storage;
  const delivery = await waitFor(`the delivery of ${eventType}`, async () => {
    const deliveries = await listDeliveries(database.kysely, { limit: 10 });
    const found = deliveries.find((one) => one.eventType === eventType && one.state === 'handled');
    return found && `${eventType} received, stored and handled`;
  });
  tour.say(`   ${way.padEnd(12)}${delivery}`);
  const membership = await waitFor(`a membership that is ${state}`, async () => {
    const [member] = await listMemberships(database.kysely, { state, limit: 1 });
    return member && `${member.displayName ?? member.trainerId} in ${member.groupId}: ${member.state}`;
  });
  tour.say(`   membership  ${membership}`);
  await showRoster(tour);
}

async function showRoster({ rosterFile, say }: Tour): Promise<void> {
  const { groups } = JSON.parse(await readFile(rosterFile, 'utf8')) as { groups: Record<string, unknown> };
  say(`   roster      ${JSON.stringify(groups[demoProject])}`);
  say('');
}

const patienceMs = 10_000;

async function waitFor(what: string, look: () => Promise<string | undefined>): Promise<string> {
  const deadline = performance.now() + patienceMs;
  while (performance.now() < deadline) {
    const seen = await look();
    if (seen !== undefined) return seen;
    await wait(25);
  }
  throw new AppError('internal', `The tour waited ${patienceMs / 1000} s in vain for ${what}`);
}

/** The endpoint's address must be known before anything listens there. */
export async function takeFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
