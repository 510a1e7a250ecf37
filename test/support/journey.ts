import { randomBytes } from 'node:crypto';
import { statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import { onTestFinished } from 'vitest';
import type { Adapter } from '../../src/adapters/adapter.ts';
import { loadAdapters } from '../../src/adapters/load-adapters.ts';
import { type App, createApp } from '../../src/app/app.ts';
import { type OpenStorage, openStorage } from '../../src/app/storage.ts';
import { Config } from '../../src/config/config-schema.ts';
import { type Database, inTransaction, type Transaction } from '../../src/db/database.ts';
import type { Row } from '../../src/db/schema.ts';
import { readSetting, writeSetting } from '../../src/db/setting-store.ts';
import { platformEventTypes } from '../../src/domain/event.ts';
import { createSignInLink } from '../../src/http/console/sign-in.ts';
import { isHeldBack } from '../../src/memberships/membership-store.ts';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/sandbox.ts';
import type { Dialect } from './databases.ts';
import { createFakeClock, type FakeClock, toDatabaseClock } from './fake-clock.ts';
import { createFolder } from './folder.ts';
import { createLogLines, type LogLines } from './log-lines.ts';
import { pollMs } from './poll-ms.ts';
import { type Answer, post } from './receiver-harness.ts';
import { readRoster } from './roster.ts';
import { sign } from './sign.ts';
import { until } from './until.ts';
import { consoleTokens } from './visitor.ts';

/**
 * The whole of it in one process: a marketplace, the bridge over a database of the test's own, and
 * a roster (or the adapter that is given) as the tool. Time stands still until the test moves it, or
 * waits for what only time brings.
 */
export interface Journey {
  sandbox: Sandbox;
  app: App;
  storage: OpenStorage;
  clock: FakeClock;
  log: LogLines;
  customer: Customer;
  receiverUrl: string;
  consoleUrl: string;
  /** Under the console's address: the link that `start` prints. */
  signInPath: string;
  /** For commands beside the running bridge, with the key in `GANGWAY_SECRET_KEY`. */
  configFile: string;
  secretKey: string;
  /** Sends what the sandbox would not: signed as the marketplace signs. */
  deliver(body: string | object): Promise<Answer>;
  roster(): Record<string, string[]>;
  memberships(): Promise<Row<'membership'>[]>;
  /** `operation outcome` of every receipt, oldest first. */
  receipts(): Promise<string[]>;
  /** Resolves when nothing is under way and nothing is due now. */
  quiet(): Promise<void>;
  /** Moves the time forward, and waits until everything due is done. */
  pass(ms: number): Promise<void>;
  /** By how much the bridge's clocks are ahead from now on: its machine's, and its database's. */
  setAhead(ahead: { machineMs: number; databaseMs: number }): void;
}

/** An install of the marketplace that the bridge knows as `acme`, with a job. */
export interface Customer {
  installId: string;
  jobId: string;
  token: string;
  secret: string;
  api(method: string, path: string, body?: object): Promise<unknown>;
  link(externalProjectId: string, wanted?: object): Promise<string>;
}

export interface JourneyOptions extends Pick<SandboxOptions, 'payloads'> {
  piiConsent?: boolean;
  projects?: string[];
  /** Stands in for the roster. */
  adapter?: Adapter;
  toolTimeout?: string;
  /** When installs are read: hardly ever, so that nothing is learnt but what the test tells. */
  schedule?: string;
  /** Who is in the roster before anything happens. */
  roster?: Record<string, string[]>;
  /** Sections of the configuration. */
  console?: object;
  receiver?: object;
  mail?: object;
  notifications?: object;
}

export const hardlyEver = '0 0 29 2 *';

export async function openJourney(
  dialect: Pick<Dialect, 'createMigrated'>,
  options: JourneyOptions = {},
): Promise<Journey> {
  // What has the time of this machine, as a process beside it, begins at the same.
  const clock = createFakeClock(new Date().toISOString());
  const log = createLogLines();
  const rosterFile = path.join(createFolder(), 'roster.json');
  if (options.roster !== undefined) writeRoster(rosterFile, options.roster);
  const { sandbox, baseUrl, customer, moveEndpoint } = await openMarketplace(clock, options);

  const [url, key] = [await dialect.createMigrated(), randomBytes(32)];
  const storage = await openStorage(url, key);
  onTestFinished(() => storage.database.close());
  const document = toDocument(baseUrl, customer, rosterFile, options);
  const config = Config.parse({ ...document, database: { url } });
  const configFile = path.join(createFolder(), 'gangway.config.json');
  writeFileSync(configFile, JSON.stringify({ ...document, database: { url } }));
  // An instance that started before its configuration was written is listed as outdated.
  clock.advance(Math.max(0, Math.ceil(statSync(configFile).ctimeMs) - clock.now().getTime()));
  const adapters = options.adapter === undefined ? await loadAdapters(config) : new Map([['list', options.adapter]]);
  let ahead = { machineMs: 0, databaseMs: 0 };
  const aheadOf = (which: keyof typeof ahead) => ({
    now: () => new Date(clock.now().getTime() + ahead[which]),
  });
  const signInLink = createSignInLink(clock);
  const app = createApp({
    config,
    configFile,
    storage,
    clock: aheadOf('machineMs'),
    databaseClock: toDatabaseClock(aheadOf('databaseMs')),
    logger: log.logger,
    adapters,
    signInLink,
    pollMs,
    hasThreads: false,
  });
  onTestFinished(() => app.stop());
  const { receiverUrl, consoleUrl } = await app.start();
  const receiver = `${receiverUrl}/webhooks/acme`;
  await moveEndpoint(receiver);

  async function quiet(): Promise<void> {
    await sandbox.idle();
    await untilNothingIsDue(storage, clock);
  }

  return {
    sandbox,
    app,
    storage,
    clock,
    log,
    customer,
    receiverUrl,
    consoleUrl,
    signInPath: `/sign-in/${signInLink.code}`,
    configFile,
    secretKey: key.toString('base64'),
    quiet,
    deliver: (event) => {
      const body = typeof event === 'string' ? event : JSON.stringify(event);
      return post(receiver, body, {
        'content-type': 'application/json',
        'x-opentrain-signature': sign(body, customer.secret, clock.seconds()),
      });
    },
    roster: () => readRoster(rosterFile),
    memberships: () =>
      storage.database.kysely.selectFrom('membership').selectAll().orderBy('groupId').orderBy('trainerId').execute(),
    async receipts() {
      const receipts = storage.database.kysely.selectFrom('receipt').selectAll().orderBy('id');
      return (await receipts.execute()).map(({ operation, outcome }) => `${operation} ${outcome}`);
    },
    async pass(ms) {
      await liveThrough(storage, clock, ms);
      await quiet();
    },
    setAhead(given) {
      ahead = given;
    },
  };
}

async function openMarketplace(clock: FakeClock, { payloads, piiConsent }: JourneyOptions) {
  const sandbox = createSandbox({ timeScale: 0, clock, ...(payloads && { payloads }) });
  const { baseUrl } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const install = sandbox.createInstall(piiConsent === undefined ? {} : { piiConsent });
  const { id: jobId } = sandbox.createJob({ installId: install.installId });

  const api: Customer['api'] = async (method, apiPath, body) => {
    const response = await fetch(`${baseUrl}${apiPath}`, {
      method,
      headers: { authorization: `Bearer ${install.token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${apiPath}: ${await response.text()}`);
    return await response.json();
  };
  // Where the bridge will listen is not known yet, but it needs the secret to start.
  const endpoint = { url: 'http://127.0.0.1:9/', eventTypes: platformEventTypes };
  const created = (await api('POST', '/webhook-endpoints', endpoint)) as {
    webhookEndpoint: { id: string };
    secret: string;
  };
  const customer: Customer = {
    installId: install.installId,
    token: install.token,
    jobId,
    api,
    secret: created.secret,
    async link(externalProjectId, wanted = {}) {
      const body = { externalProjectId, jobId, ...wanted };
      const answer = (await api('POST', '/project-links', body)) as { projectLink: { id: string } };
      return answer.projectLink.id;
    },
  };
  const moveEndpoint = (url: string) => api('PATCH', `/webhook-endpoints/${created.webhookEndpoint.id}`, { url });
  return { sandbox, baseUrl, customer, moveEndpoint };
}

function toDocument(
  baseUrl: string,
  { token, secret }: { token: string; secret: string },
  rosterFile: string,
  { projects = ['*'], toolTimeout = '15s', schedule = hardlyEver, ...sections }: JourneyOptions,
): object {
  return {
    receiver: { host: '127.0.0.1', port: 0, drain: '0s', ...sections.receiver },
    console: { port: 0, tokens: consoleTokens, ...sections.console },
    marketplace: { baseUrl },
    reconcile: { schedule },
    installs: { acme: { token, webhookSecrets: [secret], tool: 'list', projects } },
    tools: { list: { adapter: 'roster', path: rosterFile, timeout: toolTimeout } },
    mail: sections.mail,
    notifications: sections.notifications,
  };
}

/** Resolves when nothing is due. */
export async function untilNothingIsDue(storage: OpenStorage, clock: FakeClock): Promise<void> {
  const look = asTimeGoesOn({ storage, clock }, () => listUnfinished(storage, clock));
  await until('nothing is due', look, ({ length }) => length === 0);
}

/** A busy machine is slow, but shows something new within this time. */
const patienceMs = 10_000;
/** No more at once, so that what was under way while the process was frozen keeps its lease. */
const stepMs = 1000;

/**
 * The bridge may wait by its clock, for example before it asks a tool again that did not answer. By a clock that stands
 * it would wait for ever.
 *
 * @returns a look that moves the time on with the real time, once it has seen the same for long
 */
export function asTimeGoesOn<T>(
  { storage, clock }: Pick<Journey, 'storage' | 'clock'>,
  look: () => T | Promise<T>,
): () => Promise<T> {
  let last: string | undefined;
  let nextAt = performance.now() + patienceMs;
  return async () => {
    const seen = await look();
    const sight = JSON.stringify(seen);
    const now = performance.now();
    if (sight !== last) {
      last = sight;
      nextAt = now + patienceMs;
    } else if (now >= nextAt) {
      nextAt = now + stepMs;
      await liveThrough(storage, clock, stepMs);
    }
    return seen;
  };
}

/**
 * A project is found within a minute of its link, and its work is read at once. Afterwards no reading is due before the
 * next full hour.
 */
export async function untilWorkIsRead({ storage, pass, quiet }: Journey): Promise<void> {
  await pass(60_000);
  const scopes = () => storage.database.kysely.selectFrom('usageScope').selectAll().execute();
  const areRead = (rows: Awaited<ReturnType<typeof scopes>>) =>
    rows.length > 0 && rows.every(({ readBeganAt }) => readBeganAt !== null);
  await until('the work is read', scopes, areRead);
  await quiet();
}

/** Moves the time on as a bridge lives through it: else it would have been frozen meanwhile. */
export async function liveThrough({ database }: OpenStorage, clock: FakeClock, ms: number): Promise<void> {
  await noteAlive(database, new Date(clock.now().getTime() + ms));
  clock.advance(ms);
}

/** That a bridge will have been there until then. */
async function noteAlive(database: Database, until: Date): Promise<void> {
  const value = until.toISOString();
  await inTransaction(database, (tx) => writeSetting(tx, 'last_alive_at', value));
}

function writeRoster(file: string, groups: Record<string, string[]>): void {
  const members = (ids: string[]) =>
    ids.map((id) => ({ id, email: `${id}@elsewhere.example`, displayName: id, status: 'active' }));
  const entries = Object.entries(groups).map(([group, ids]) => [group, members(ids)]);
  writeFileSync(file, JSON.stringify({ groups: Object.fromEntries(entries) }));
}

/**
 * What was not tried yet, is due again at this moment of the test's time, or is being worked on.
 *
 * @returns the rows of the first step that has any; empty where no step has any
 */
async function listUnfinished({ database }: OpenStorage, clock: FakeClock): Promise<object[]> {
  const now = clock.now().toISOString();
  return await inTransaction(database, async (tx) => {
    // All steps at one moment: work that leaves a late step for an earlier one would be in neither.
    if (database.dialect === 'postgres') await sql`set transaction isolation level repeatable read`.execute(tx);
    // A schedule that is first looked at after hours have passed begins there, and misses them.
    if ((await readSetting(tx, 'usage_tick')) === undefined) return [{ scheduleToBegin: 'usage' }];
    return await firstUnfinished(tx, now);
  });
}

async function firstUnfinished(tx: Transaction, now: string): Promise<object[]> {
  const isDue = sql<boolean>`next_attempt_at is not null and (attempts = 0 or next_attempt_at <= ${now})`;
  const isLeased = sql<boolean>`leased_until is not null`;
  const isSure = sql<boolean>`late_until is null and missed_at is null`;
  const isToDo = sql<boolean>`${isDue} and (${isSure} or next_attempt_at <= ${now})`;
  // In the order of the flow: what leaves one step has arrived at the next when that is asked.
  const steps = [
    tx.selectFrom('delivery').select(['id as delivery', 'attempts', 'nextAttemptAt']).where(isDue),
    tx.selectFrom('readRequest').select(['contractId as contractToRead', 'attempts', 'nextAttemptAt']).where(isDue),
    selectJobs(tx)
      .where('kind', 'in', ['contracts', 'reconcile'])
      .where((eb) => eb.or([eb('dueAt', '<=', now), isLeased])),
    tx.selectFrom('derivation').select('trainerId as trainerToDerive'),
    tx
      .selectFrom('linkReset')
      .select(['groupId as linkToReset', 'attempts', 'nextAttemptAt'])
      // One that is under way has been tried; one that waits for others to be taken out has not.
      .where((eb) => eb.or([eb('nextAttemptAt', '<=', now), eb('attempts', '>', 0)]))
      .where('nextAttemptAt', 'is not', null),
    tx
      .selectFrom('membership')
      .select(['id as membership', 'state', 'attempts', 'failure'])
      .select(['nextAttemptAt', 'removeAfter', 'leasedUntil'])
      // A trainer who was invited is looked for now and then until they come.
      .where((eb) => eb.or([eb('state', '<>', 'invited'), eb('nextAttemptAt', '<=', now), isLeased]))
      .where((eb) => eb.or([isToDo, isLeased, sql<boolean>`remove_after <= ${now}`]))
      // What waits for an install to be read is done once that can be read.
      .where((eb) => eb.not(isHeldBack(eb))),
    selectJobs(tx)
      // A reading of work has trainers looked for whose work it finds.
      .where((eb) => eb.or([eb('kind', '=', 'subscription'), eb('kind', 'like', 'work in %')]))
      .where((eb) => eb.or([eb('dueAt', '<=', now), isLeased])),
  ];
  for (const step of steps) {
    const unfinished: object[] = await step.execute();
    if (unfinished.length > 0) return unfinished;
  }
  return [];
}

function selectJobs(tx: Transaction) {
  return tx.selectFrom('job').select(['kind as job', 'key', 'attempts', 'failure', 'dueAt', 'leasedUntil']);
}
