import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { loadAdapters } from '../../src/adapters/load-adapters.ts';
import { createApp } from '../../src/app/app.ts';
import { type OpenStorage, openStorage } from '../../src/app/storage.ts';
import { Config } from '../../src/config/config-schema.ts';
import type { Row } from '../../src/db/schema.ts';
import { employerEventTypes } from '../../src/domain/event.ts';
import type { NewAccount } from '../../src/sandbox/control-request-schema.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { createApiClient } from './api-client.ts';
import type { Dialect } from './databases.ts';
import { createFakeClock, type FakeClock, toDatabaseClock } from './fake-clock.ts';
import { createFolder } from './folder.ts';
import { openFront } from './front.ts';
import { type FrontDoor, openFrontDoor } from './front-door.ts';
import { hardlyEver, liveThrough, untilNothingIsDue } from './journey.ts';
import { createLogLines, type LogLines } from './log-lines.ts';
import { pollMs } from './poll-ms.ts';
import { readRoster } from './roster.ts';
import { until } from './until.ts';
import { consoleTokens } from './visitor.ts';

/**
 * An employer with an account of their own, the bridge, and a roster (or a real tool) as their tool. Two jobs lead to
 * two projects. Time stands still until the test moves it.
 */
export interface EmployerJourney {
  sandbox: Sandbox;
  storage: OpenStorage;
  clock: FakeClock;
  log: LogLines;
  accountId: string;
  signs: Job;
  lamps: Job;
  consoleUrl: string;
  receiverUrl: string;
  /** The address at which the marketplace reaches the bridge, where it does. */
  door: FrontDoor;
  roster(): Record<string, string[]>;
  memberships(): Promise<Row<'membership'>[]>;
  /** Resolves when nothing is under way and nothing is due now. */
  quiet(): Promise<void>;
  /** Moves the time on, and resolves when all that became due by then was tried. */
  live(ms: number): Promise<void>;
  /** Every request of the bridge since the last one was asked for, as its path. Only where they are counted. */
  asked(): string[];
  /**
   * Moves the time on, by so much that a reading is due, and waits until the account was read by then, or could not
   * be. The first is due after a minute, the others after `readEveryMs`.
   */
  pass(ms: number): Promise<void>;
  /** Resolves when the feed was read by now. The account was read before, so that it is known whose feed it is. */
  feedIsRead(): Promise<void>;
  /** The webhooks of the account, as the marketplace has them. */
  webhooks(): Promise<{ id: string; status: string }[]>;
  /** Asks the marketplace to end a contract. @returns the id of the approval that a person must confirm */
  askForEnd(contractId: string): Promise<string>;
}

export interface Job {
  id: string;
  project: string;
}

export interface EmployerOptions extends Pick<NewAccount, 'scopes' | 'isClaimed' | 'featuresOff'> {
  /** Whether the marketplace can reach the bridge, so that it has a webhook. */
  isReachable?: boolean;
  /** A tool that really runs, by its settings, with a project for each job. */
  tool?: { settings: object; projects: readonly [signs: string, lamps: string] };
  /** What is connected to the running bridge: an account that its configuration does not have, or the one that it has. */
  connects?: 'unknown' | 'configured';
  /** The events of the webhook; by default those that Gangway uses. */
  eventTypes?: readonly string[];
  /** Whether the requests of the bridge are counted. */
  isCounted?: boolean;
  /** Whether installs are read as often as where no schedule is configured; hardly ever by default. */
  hasUsualSchedule?: boolean;
  notifications?: object;
  removals?: { max: number; maxFraction: number };
  /** More keys of the install. */
  own?: object;
  /** More installs of the same tool. */
  others?(sandbox: Sandbox, jobs: readonly [Job, Job]): object;
}

/** How often the account is read as a whole, where its feed is. */
export const readEveryMs = 4 * 60_000;
const minuteMs = 60_000;

export async function openEmployerJourney(
  dialect: Pick<Dialect, 'createMigrated'>,
  {
    isReachable = false,
    eventTypes = employerEventTypes,
    isCounted = false,
    hasUsualSchedule = false,
    tool,
    own,
    others,
    connects,
    removals,
    notifications,
    ...account
  }: EmployerOptions = {},
): Promise<EmployerJourney> {
  const reconcile = hasUsualSchedule ? undefined : { schedule: hardlyEver };
  const sections = { reconcile, removals, notifications };
  const clock = createFakeClock(new Date().toISOString());
  const log = createLogLines();
  const sandbox = createSandbox({ timeScale: 0, clock });
  const { baseUrl, employerBaseUrl } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const { accountId, token } = sandbox.createAccount(account);
  const createJob = (project: string) => ({ id: sandbox.createJob({ accountId }).id, project });
  const projects = tool?.projects ?? (['signs', 'lamps'] as const);
  const [signs, lamps] = [createJob(projects[0]), createJob(projects[1])];

  const rosterFile = path.join(createFolder(), 'roster.json');
  const storage = await openStorage(await dialect.createMigrated(), randomBytes(32));
  onTestFinished(() => storage.database.close());
  const door = await openFrontDoor();
  const api = async <T>(method: string, at: string, body?: object): Promise<T> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${employerBaseUrl}${at}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    return (await response.json()) as T;
  };
  const subscribe = () => api<{ secret: string }>('POST', '/webhooks', { url: `${door.url}/webhooks/own`, eventTypes });
  const webhookSecrets = isReachable && connects === undefined ? [(await subscribe()).secret] : [];
  const jobs = [signs, lamps];
  const front = isCounted ? await openFront(employerBaseUrl) : undefined;
  const configured = { source: 'employer', token, webhookSecrets, tool: 'list', jobs: toConfigured(jobs), ...own };
  const config = Config.parse({
    receiver: { host: '127.0.0.1', port: 0, drain: '0s', ...(isReachable && { publicUrl: door.url }) },
    console: { port: 0, tokens: consoleTokens },
    marketplace: { baseUrl, employerBaseUrl: front?.baseUrl ?? employerBaseUrl },
    installs: {
      ...(connects !== 'unknown' && { own: configured }),
      ...others?.(sandbox, [signs, lamps]),
    },
    tools: { list: tool?.settings ?? { adapter: 'roster', path: rosterFile } },
    ...sections,
  });
  const app = createApp({
    config,
    storage,
    clock,
    databaseClock: toDatabaseClock(clock),
    logger: log.logger,
    adapters: await loadAdapters(config),
    pollMs,
    hasThreads: false,
  });
  onTestFinished(() => app.stop());
  const { consoleUrl, receiverUrl } = await app.start();
  door.leadTo(receiverUrl);
  let isRead = connects !== undefined;
  if (connects !== undefined) await connectOwn(consoleUrl, connects === 'unknown' ? { token, jobs } : null);

  async function quiet(): Promise<void> {
    await sandbox.idle();
    await untilNothingIsDue(storage, clock);
  }

  /** A reading may have failed. */
  async function untilReadSince(since: string): Promise<void> {
    const runs = storage.database.kysely.selectFrom('run').select('id').where('endedAt', 'is not', null);
    const ended = () => runs.where('beganAt', '>', since).execute();
    await until('the account is read', ended, ({ length }) => length > 0);
    await quiet();
  }

  /** Whether no reading of the feed is due. */
  async function untilFeedIsTried(): Promise<void> {
    const job = storage.database.kysely.selectFrom('job').select('dueAt').where('kind', '=', 'feed');
    await until(
      'the feed is read',
      () => job.executeTakeFirst(),
      (row) => row !== undefined && row.dueAt > clock.now().toISOString(),
    );
  }

  // The first tick reads nothing, because no tick was missed.
  const tick = storage.database.kysely.selectFrom('job').select('dueAt').where('kind', '=', 'silent schedule');
  await until(
    'the schedule is known',
    () => tick.execute(),
    ({ length }) => length > 0,
  );
  await quiet();
  return {
    sandbox,
    storage,
    clock,
    log,
    accountId,
    signs,
    lamps,
    consoleUrl,
    receiverUrl,
    door,
    quiet,
    roster: () => readRoster(rosterFile),
    memberships: () => storage.database.kysely.selectFrom('membership').selectAll().orderBy('groupId').execute(),
    asked() {
      const paths = (front?.asked() ?? []).map((asked) => asked.replace(/\?.*/, ''));
      front?.meddle();
      return paths;
    },
    async pass(ms) {
      if (ms < (isRead ? readEveryMs : minuteMs)) throw new Error('no tick may lie in a shorter time');
      isRead = true;
      const before = clock.now().toISOString();
      await liveThrough(storage, clock, ms);
      await untilReadSince(before);
    },
    async feedIsRead() {
      await untilFeedIsTried();
      await quiet();
    },
    async live(ms) {
      await liveThrough(storage, clock, ms);
      await until(
        'the schedule has ticked',
        () => tick.execute(),
        ([row]) => row !== undefined && row.dueAt > clock.now().toISOString(),
      );
      await quiet();
      await untilFeedIsTried();
      await quiet();
    },
    webhooks: async () => (await api<{ webhooks: { id: string; status: string }[] }>('GET', '/webhooks')).webhooks,
    async askForEnd(contractId) {
      sandbox.fundMilestone(contractId);
      const { approval } = await api<{ approval: { id: string } }>('POST', `/contracts/${contractId}/end`);
      return approval.id;
    },
  };
}

function toConfigured(jobs: readonly Job[]): Record<string, string> {
  return Object.fromEntries(jobs.map(({ id, project }) => [id, project]));
}

/** @param unknown an account that the configuration does not have */
async function connectOwn(consoleUrl: string, unknown: { token: string; jobs: readonly Job[] } | null): Promise<void> {
  const jobs = unknown?.jobs.map(({ id: job, project }) => ({ job, project }));
  const body = unknown === null ? {} : { source: 'employer', token: unknown.token, jobs };
  await createApiClient(consoleUrl).ask('installsConnect', { params: { install: 'own' }, body });
}
