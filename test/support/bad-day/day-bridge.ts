import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { loadAdapters } from '../../../src/adapters/load-adapters.ts';
import { createApp } from '../../../src/app/app.ts';
import { openStorage } from '../../../src/app/storage.ts';
import { Config } from '../../../src/config/config-schema.ts';
import { inTransaction } from '../../../src/db/database.ts';
import { platformEventTypes } from '../../../src/domain/event.ts';
import { createInstallStateStore } from '../../../src/reconcile/read/install-state-store.ts';
import { type FakeClock, toDatabaseClock } from '../fake-clock.ts';
import { createFolder } from '../folder.ts';
import { noteAlive, untilNothingIsDue } from '../journey.ts';
import { createLogLines } from '../log-lines.ts';
import { listRoster } from '../roster.ts';
import type { DayLog } from './day-log.ts';
import type { DayMarket } from './day-market.ts';
import { openFrontDoor } from './front-door.ts';

/** The bridge and its operator, who keeps token and links in order. The endpoint is the bridge's. */
export interface DayBridge {
  /** It lives through what passes next: else it would have been frozen meanwhile. */
  pass(ms: number): Promise<void>;
  /** `project/trainer`, sorted. */
  roster(): string[];
  /** With these tokens, and an endpoint and links of their own: as at first, and after reconnecting. */
  connect(token: string, jobsByProject: ReadonlyMap<string, string>): Promise<void>;
  link(externalProjectId: string, jobId: string): Promise<void>;
  unlink(externalProjectId: string): Promise<void>;
  /** Whether the marketplace's requests arrive. */
  setReachable(isReachable: boolean): void;
  endpointStatus(): Promise<string>;
  disableEndpoint(): Promise<void>;
  /** Has the whole install read: what the schedule does. */
  reconcile(): Promise<void>;
  quiet(): Promise<void>;
  plans(): Promise<number>;
  log: ReturnType<typeof createLogLines>;
}

export async function openDayBridge(
  databaseUrl: string,
  { market, clock, dayLog }: { market: DayMarket; clock: FakeClock; dayLog: DayLog },
): Promise<DayBridge> {
  const log = createLogLines();
  const door = await openFrontDoor();
  const rosterFile = path.join(createFolder(), 'roster.json');
  const storage = await openStorage(databaseUrl, randomBytes(32));
  onTestFinished(() => storage.database.close());
  const secrets: string[] = [];
  const links = new Map<string, string>();
  let token = '';
  let endpointPath = '';
  let receiverUrl = '';
  let stop = async () => undefined as unknown;
  onTestFinished(async () => void (await stop()));

  async function api(method: string, apiPath: string, body?: object): Promise<unknown> {
    const response = await fetch(`${market.baseUrl}${apiPath}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${apiPath}: ${await response.text()}`);
    return await response.json();
  }

  async function start(): Promise<void> {
    const urls = { baseUrl: market.baseUrl, publicUrl: door.url };
    const config = toConfig({ ...urls, token, secrets, rosterFile });
    const adapters = await loadAdapters(config);
    const watched = new Map([...adapters].map(([name, adapter]) => [name, dayLog.watch(adapter)]));
    const app = createApp({
      config,
      storage,
      clock,
      databaseClock: toDatabaseClock(clock),
      logger: log.logger,
      adapters: watched,
    });
    stop = () => app.stop();
    ({ receiverUrl } = await app.start());
    door.leadTo(receiverUrl);
  }

  const bridge: DayBridge = {
    log,
    roster: () => listRoster(rosterFile),
    async connect(newToken, jobsByProject) {
      door.leadTo(null);
      await stop();
      token = newToken;
      const url = `${door.url}/webhooks/acme`;
      const created = await api('POST', '/webhook-endpoints', { url, eventTypes: platformEventTypes });
      const { webhookEndpoint, secret } = created as {
        webhookEndpoint: { id: string };
        secret: string;
      };
      endpointPath = `/webhook-endpoints/${webhookEndpoint.id}`;
      // What the old endpoint still has to deliver is signed with its own secret.
      secrets.unshift(secret);
      await start();
      for (const [project, jobId] of jobsByProject) await bridge.link(project, jobId);
    },
    async link(externalProjectId, jobId) {
      const created = await api('POST', '/project-links', { externalProjectId, jobId });
      const { projectLink } = created as { projectLink: { id: string } };
      links.set(externalProjectId, projectLink.id);
    },
    unlink: async (project) => void (await api('DELETE', `/project-links/${links.get(project)}`)),
    setReachable: (isReachable) => door.leadTo(isReachable ? receiverUrl : null),
    async endpointStatus() {
      const answer = await api('GET', endpointPath);
      return (answer as { webhookEndpoint: { status: string } }).webhookEndpoint.status;
    },
    disableEndpoint: async () => void (await api('PATCH', endpointPath, { status: 'DISABLED' })),
    async reconcile() {
      const { database } = storage;
      const states = createInstallStateStore(database);
      const now = clock.now().toISOString();
      await inTransaction(database, (tx) => states.wantRead(tx, ['acme'], now));
      await bridge.quiet();
    },
    async pass(ms) {
      await noteAlive(storage.database, new Date(clock.now().getTime() + ms));
      await market.pass(ms);
    },
    async quiet() {
      await market.settle();
      await untilNothingIsDue(storage, clock);
    },
    async plans() {
      const rows = await storage.database.kysely.selectFrom('plan').select('id').execute();
      return rows.length;
    },
  };
  return bridge;
}

/**
 * The brake would hold, and rightly, much of what this day brings: a third of the people go in one
 * day, many of them known by a reading alone. It has tests of its own; here it is out of the way, so
 * that what is (not) removed shows what was concluded and nothing else.
 */
const noBrake = { max: 1000, maxFraction: 1 };

function toConfig({
  baseUrl,
  publicUrl,
  token,
  secrets,
  rosterFile,
}: {
  baseUrl: string;
  publicUrl: string;
  token: string;
  secrets: string[];
  rosterFile: string;
}): Config {
  return Config.parse({
    receiver: { host: '127.0.0.1', port: 0, drain: '0s', publicUrl },
    console: { port: 0 },
    marketplace: { baseUrl },
    installs: { acme: { token, webhookSecrets: secrets, tool: 'list', projects: ['*'] } },
    tools: { list: { adapter: 'roster', path: rosterFile } },
    removals: noBrake,
    // As often as the marketplace is read: what is only waited for makes the day longer.
    subscription: { every: '15m' },
  });
}
