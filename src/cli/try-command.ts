import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { loadAdapters } from '../adapters/load-adapters.ts';
import { createApp } from '../app/app.ts';
import { openStorage } from '../app/storage.ts';
import { Config } from '../config/config-schema.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { platformEventTypes } from '../domain/event.ts';
import type { MembershipState } from '../domain/membership.ts';
import { listDeliveries } from '../inbox/delivery-list-store.ts';
import type { Storage } from '../keys/storage.ts';
import { systemClock, toInstant } from '../lib/clock.ts';
import { requestJson } from '../lib/http-client.ts';
import { createLogger } from '../lib/logger.ts';
import { toLogDestination } from '../lib/readable-log.ts';
import { listMemberships } from '../memberships/membership-list-store.ts';
import { wantRead } from '../reconcile/read/install-state-store.ts';
import { createSandbox, type Sandbox } from '../sandbox/sandbox.ts';
import type { Session, Terminal } from './session.ts';

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
      if (exit) say('\nIt went well: the trainer got in with the contract, and is out again after it.');
      else await stay(terminal, marketplace.url, say);
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

interface Tour {
  storage: Storage;
  rosterFile: string;
  say(line: string): void;
}

/**
 * Hires a trainer and ends the contract, and shows what happens after each.
 *
 * @throws AppError `internal` if one of the steps did not happen
 */
async function takeTour(
  { storage, rosterFile, say }: Tour,
  { sandbox, jobId }: { sandbox: Sandbox; jobId: string },
): Promise<void> {
  const { contractId, trainers } = sandbox.hire({ jobId });
  say(`1. A trainer is hired: contract ${contractId}, ${trainers[0]?.displayName ?? ''}`);
  say(`   delivery    ${await waitForDelivery(storage, 'contract.started')}`);
  say(`   membership  ${await waitForMember(storage, 'active')}`);
  say(`   roster      ${await readGroup(rosterFile)}`);
  say('');
  sandbox.endContract(contractId);
  say(`2. The contract ends: ${contractId}`);
  say(`   delivery    ${await waitForDelivery(storage, 'contract.ended')}`);
  say(`   membership  ${await waitForMember(storage, 'removed')}`);
  say(`   roster      ${await readGroup(rosterFile)}`);
}

/** The same for an employer's own account, where a person at the marketplace confirms the end. */
async function takeTourOfAccount(
  { storage, rosterFile, say }: Tour,
  { sandbox, account }: { sandbox: Sandbox; account: TriedAccount },
): Promise<void> {
  const { contractId, trainers } = sandbox.hire({ jobId: account.jobId });
  say(`1. You hire a trainer: contract ${contractId}, ${trainers[0]?.displayName ?? ''}`);
  say(`   feed        ${await waitForDelivery(storage, 'contract.created')}`);
  say(`   membership  ${await waitForMember(storage, 'active')}`);
  say(`   roster      ${await readGroup(rosterFile)}`);
  say('');
  const approvalId = await account.askForEnd(contractId);
  say(`2. You ask for the end of ${contractId}: the approval ${approvalId} waits for a person`);
  say(`   roster      ${await readGroup(rosterFile)}`);
  say('');
  sandbox.resolveApproval(approvalId, 'confirmed');
  say('3. A person confirms it at the marketplace');
  say(`   feed        ${await waitForDelivery(storage, 'approval.confirmed')}`);
  say(`   membership  ${await waitForMember(storage, 'removed')}`);
  say(`   roster      ${await readGroup(rosterFile)}`);
}

const patienceMs = 10_000;

async function waitForDelivery({ database }: Storage, type: string): Promise<string> {
  return await waitFor(`the delivery of ${type}`, async () => {
    const deliveries = await listDeliveries(database.kysely, { limit: 10 });
    const { state } = deliveries.find((delivery) => delivery.eventType === type) ?? {};
    return state === 'handled' ? `${type} received, stored and ${state}` : undefined;
  });
}

async function waitForMember({ database }: Storage, state: MembershipState): Promise<string> {
  return await waitFor(`a membership that is ${state}`, async () => {
    const [member] = await listMemberships(database.kysely, { state, limit: 1 });
    if (member === undefined) return undefined;
    return `${member.displayName ?? member.trainerId} in ${member.groupId}: ${member.state}`;
  });
}

async function readGroup(rosterFile: string): Promise<string> {
  const { groups } = JSON.parse(await readFile(rosterFile, 'utf8')) as {
    groups: Record<string, unknown>;
  };
  return JSON.stringify(groups[demoProject]);
}

async function waitFor(what: string, look: () => Promise<string | undefined>): Promise<string> {
  const deadline = performance.now() + patienceMs;
  while (performance.now() < deadline) {
    const seen = await look();
    if (seen !== undefined) return seen;
    await wait(25);
  }
  throw new AppError('internal', `The tour waited ${patienceMs / 1000} s in vain for ${what}`);
}

interface TriedAccount {
  token: string;
  jobId: string;
  /** Asks the marketplace to end a contract of which money is funded. @returns the id of the approval */
  askForEnd(contractId: string): Promise<string>;
}

/** An employer's own account with a job. It has no webhook: nothing reaches this machine. */
function prepareAccount(sandbox: Sandbox, employerBaseUrl: string): TriedAccount {
  const { accountId, token } = sandbox.createAccount();
  const { id: jobId } = sandbox.createJob({ accountId, title: 'Street sign annotation' });
  return {
    token,
    jobId,
    async askForEnd(contractId) {
      sandbox.fundMilestone(contractId);
      const { approval } = await post<{ approval: { id: string } }>(
        `${employerBaseUrl}/contracts/${contractId}/end`,
        token,
      );
      return approval.id;
    },
  };
}

/** What is configured for it. The feed is read each second, so that the tour is short. */
function configureAccount({ token, jobId }: TriedAccount) {
  return {
    feed: { every: '1s' },
    installs: { demo: { source: 'employer', token, tool: 'roster', jobs: { [jobId]: demoProject } } },
  };
}

/** The schedule would do so within a minute. */
async function wantFirstReading({ database }: Storage): Promise<void> {
  const now = toInstant(systemClock.now());
  await inTransaction(database, (tx) => wantRead(tx, ['demo'], now));
}

interface Customer {
  token: string;
  secret: string;
  jobId: string;
}

const demoProject = 'street-signs';

/** A customer who has connected the bridge: a job linked to a project, and a webhook endpoint. */
async function prepareCustomer(sandbox: Sandbox, baseUrl: string, receiverPort: number): Promise<Customer> {
  const { installId, token } = sandbox.createInstall();
  const job = sandbox.createJob({ installId, title: 'Street sign annotation' });
  const url = `http://127.0.0.1:${receiverPort}/webhooks/demo`;
  const endpoint = { url, eventTypes: platformEventTypes };
  const { secret } = await post<{ secret: string }>(`${baseUrl}/webhook-endpoints`, token, endpoint);
  await post(`${baseUrl}/project-links`, token, {
    externalProjectId: demoProject,
    externalProjectName: 'Street signs',
    externalProjectUrl: 'https://tool.example.com/projects/street-signs',
    jobId: job.id,
  });
  return { token, secret, jobId: job.id };
}

async function post<Answer>(url: string, token: string, body?: object): Promise<Answer> {
  const answer = await requestJson({
    method: 'POST',
    url,
    headers: { authorization: `Bearer ${token}` },
    ...(body && { body }),
    purpose: 'act in the sandbox',
    timeoutMs: 5000,
    maxBytes: 65_536,
  });
  return answer.body as Answer;
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
