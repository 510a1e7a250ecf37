import { randomBytes } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { Adapter } from '../../src/adapters/adapter.ts';
import { type App, createApp } from '../../src/app/app.ts';
import type { PrepareOptions } from '../../src/app/loops.ts';
import { type OpenStorage, openStorage } from '../../src/app/storage.ts';
import { Config } from '../../src/config/config-schema.ts';
import { platformEventTypes as eventTypes } from '../../src/domain/event.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import type { Dialect } from './databases.ts';
import { createFakeClock, type FakeClock, toDatabaseClock } from './fake-clock.ts';
import { hardlyEver, liveThrough, untilNothingIsDue } from './journey.ts';
import { createLogLines, type LogLines } from './log-lines.ts';
import { pollMs } from './poll-ms.ts';
import { type Answer, post } from './receiver-harness.ts';
import { sign } from './sign.ts';

/**
 * A marketplace with several customers, and what a bridge between them and tools keeps: so that one
 * can be stopped and another started on the same database, otherwise configured or much later.
 */
export interface Site {
  sandbox: Sandbox;
  clock: FakeClock;
  /** Of all bridges that ever ran here. */
  log: LogLines;
  databaseUrl: string;
  customer(install: string): SiteCustomer;
  /** Starts a bridge, to which the marketplace then delivers. */
  start(setup: SiteSetup): Promise<SiteBridge>;
}

/** An install at the marketplace, with a job. */
export interface SiteCustomer {
  installId: string;
  jobId: string;
  link(externalProjectId: string, wanted?: object): Promise<string>;
  unlink(linkId: string): Promise<void>;
}

export interface SiteSetup extends PrepareOptions {
  /** By install, each a customer of the site: by default all of them, in the tool `studio`. */
  installs?: Record<string, SiteInstall>;
  tools: Record<string, Adapter>;
  /** Its address, by tool. */
  urls?: Record<string, string>;
  removals?: object;
  managedDomains?: string[];
  /** Accounts that are never touched, in every tool. */
  protected?: readonly string[];
  /** Instead of the site's. */
  marketplaceUrl?: string;
}

interface SiteInstall {
  tool?: string;
  projects?: string[];
  /** The install whose token is used by mistake. */
  tokenOf?: string;
}

export interface SiteBridge {
  storage: OpenStorage;
  consoleUrl: string;
  /** Signed as the marketplace signs, and past it. */
  deliver(install: string, body: string, headers?: Record<string, string>): Promise<Answer>;
  /** Resolves when nothing is under way and nothing is due now. */
  quiet(): Promise<void>;
  /** Moves the time on as it lives through it. */
  pass(ms: number): Promise<void>;
  /** `trainer state`, sorted. */
  memberships(): Promise<string[]>;
  stop(): Promise<void>;
}

interface Account extends SiteCustomer {
  token: string;
  secret: string;
  moveEndpoint(url: string): Promise<unknown>;
}

export async function openSite(dialect: Pick<Dialect, 'createMigrated'>, names: string[]): Promise<Site> {
  // What has the time of this machine, as a process beside it, begins at the same.
  const clock = createFakeClock(new Date().toISOString());
  const log = createLogLines();
  const sandbox = createSandbox({ timeScale: 0, clock });
  const { baseUrl } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const accounts = new Map<string, Account>();
  for (const name of names) accounts.set(name, await openAccount(sandbox, baseUrl));
  const databaseUrl = await dialect.createMigrated();
  // With SQLite the key lies beside the database, as it does by default.
  const key = databaseUrl.startsWith('sqlite:') ? undefined : randomBytes(32);

  const accountOf = (install: string): Account => {
    const account = accounts.get(install);
    if (account === undefined) throw new Error(`no customer ${install}`);
    return account;
  };

  async function start(setup: SiteSetup): Promise<SiteBridge> {
    const storage = await openStorage(databaseUrl, key);
    const app = createApp({
      config: toConfig(setup, accounts, setup.marketplaceUrl ?? baseUrl),
      storage,
      clock,
      databaseClock: toDatabaseClock(clock),
      logger: log.logger,
      adapters: new Map(Object.entries(setup.tools)),
      startOptions: setup,
      pollMs,
      hasThreads: false,
    });
    const stop = stopOnce(app, storage);
    onTestFinished(stop);
    const { receiverUrl, consoleUrl } = await app.start().catch(async (error: unknown) => {
      await stop();
      throw error;
    });
    const urlOf = (install: string) => `${receiverUrl}/webhooks/${install}`;
    for (const [name, account] of accounts) await account.moveEndpoint(urlOf(name));
    return {
      storage,
      consoleUrl,
      stop,
      deliver: (install, body, headers = {}) =>
        post(urlOf(install), body, {
          'content-type': 'application/json',
          'x-opentrain-signature': sign(body, accountOf(install).secret, clock.seconds()),
          ...headers,
        }),
      async quiet() {
        await sandbox.idle();
        await untilNothingIsDue(storage, clock);
      },
      pass: (ms) => liveThrough(storage, clock, ms),
      memberships: () => listMemberships(storage),
    };
  }

  return { sandbox, clock, log, databaseUrl, customer: accountOf, start };
}

function stopOnce(app: App, storage: OpenStorage): () => Promise<void> {
  async function stop(): Promise<void> {
    await app.stop();
    await storage.database.close();
  }
  let stopped: Promise<void> | undefined;
  return () => {
    stopped ??= stop();
    return stopped;
  };
}

async function openAccount(sandbox: Sandbox, baseUrl: string): Promise<Account> {
  const { installId, token } = sandbox.createInstall();
  const { id: jobId } = sandbox.createJob({ installId });
  async function api(method: string, path: string, body?: object): Promise<unknown> {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return await response.json();
  }
  // Where the bridge will listen is not known yet, but it needs the secret to start.
  const { webhookEndpoint, secret } = (await api('POST', '/webhook-endpoints', {
    url: 'http://127.0.0.1:9/',
    eventTypes,
  })) as { webhookEndpoint: { id: string }; secret: string };
  return {
    installId,
    jobId,
    token,
    secret,
    async link(externalProjectId, wanted = {}) {
      const created = await api('POST', '/project-links', { externalProjectId, jobId, ...wanted });
      return (created as { projectLink: { id: string } }).projectLink.id;
    },
    unlink: async (linkId) => void (await api('DELETE', `/project-links/${linkId}`)),
    moveEndpoint: (url) => api('PATCH', `/webhook-endpoints/${webhookEndpoint.id}`, { url }),
  };
}

function toConfig(
  { installs, tools, removals, managedDomains = [], ...setup }: SiteSetup,
  accounts: ReadonlyMap<string, Account>,
  baseUrl: string,
): Config {
  const wanted = installs ?? Object.fromEntries([...accounts.keys()].map((name) => [name, {}]));
  const toInstall = ([name, { tool = 'studio', projects = ['*'], tokenOf = name }]: [string, SiteInstall]) => {
    // One that is not a customer is one that was renamed: it has what the first customer has.
    const [first = { token: '', secret: '' }] = accounts.values();
    const { token } = accounts.get(tokenOf) ?? first;
    const { secret } = accounts.get(name) ?? first;
    return [name, { token, webhookSecrets: [secret], tool, projects }];
  };
  return Config.parse({
    reconcile: { schedule: hardlyEver },
    receiver: { host: '127.0.0.1', port: 0, drain: '0s' },
    console: { port: 0 },
    marketplace: { baseUrl, managedDomains },
    installs: Object.fromEntries(Object.entries(wanted).map(toInstall)),
    tools: Object.fromEntries(
      Object.keys(tools).map((name) => {
        const url = setup.urls?.[name];
        const { protected: kept = [] } = setup;
        return [name, { adapter: 'given', protected: [...kept], ...(url !== undefined && { url }) }];
      }),
    ),
    ...(removals && { removals }),
  });
}

async function listMemberships({ database }: OpenStorage): Promise<string[]> {
  const rows = await database.kysely.selectFrom('membership').select(['trainerId', 'state']).execute();
  return rows.map(({ trainerId, state }) => `${trainerId} ${state}`).sort();
}
