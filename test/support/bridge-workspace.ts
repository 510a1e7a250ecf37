import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { loadAdapters } from '../../src/adapters/load-adapters.ts';
import { createApp } from '../../src/app/app.ts';
import { type OpenStorage, openStorage } from '../../src/app/storage.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { beatInstance } from '../../src/db/instance-store.ts';
import { migrate } from '../../src/db/migrate.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { sqliteFileOf } from '../../src/db/sqlite-database.ts';
import { countDueDeliveries } from '../../src/inbox/inbox-store.ts';
import { listMemberships } from '../../src/memberships/membership-list-store.ts';
import { findParent } from './find-parent.ts';
import { createFolder } from './folder.ts';
import { hardlyEver } from './journey.ts';
import { createLogLines } from './log-lines.ts';
import { pollMs } from './poll-ms.ts';
import { post } from './receiver-harness.ts';
import { sign } from './sign.ts';
import { until } from './until.ts';

const secret = 'whsec_c2VjcmV0LW9mLWFjbWU';

/** A folder with a configuration of the install `acme` on a roster, over SQLite. */
export interface Workspace {
  folder: string;
  configFile: string;
  rosterFile: string;
  /** Runs the bridge in this process until these deliveries are handled, or are no events. */
  receive(...bodies: string[]): Promise<void>;
  /** Runs the bridge in this process while something else is done. */
  whileRunning(work: () => Promise<void>): Promise<void>;
  withStorage(work: (storage: OpenStorage) => Promise<void>): Promise<void>;
  /** Leaves the heartbeat of an instance that is taken to run until the test is over. */
  pretendRunning(): Promise<void>;
}

/** A migrated, empty database. Migrating one for each test would take longer than most tests. */
const migrated = await migrateOne();

async function migrateOne(): Promise<Buffer> {
  const folder = mkdtempSync(path.join(findParent(), 'gangway-'));
  const file = path.join(folder, 'gangway.db');
  const database = openDatabase(`sqlite:${file}`);
  await migrate(database);
  await database.close();
  const bytes = readFileSync(file);
  rmSync(folder, { recursive: true });
  return bytes;
}

export function createBridgeWorkspace(changes: object = {}): Workspace {
  const folder = createFolder();
  const configFile = path.join(folder, 'gangway.config.json');
  const rosterFile = path.join(folder, 'roster.json');
  const config = {
    receiver: { host: '127.0.0.1', port: 0, drain: '0s' },
    console: { port: 0 },
    database: { url: 'sqlite:./gangway.db' },
    // No server listens there.
    marketplace: { baseUrl: 'http://127.0.0.1:9/api/partner/v1' },
    installs: { acme: { token: 'ot_ptk_acme', webhookSecrets: [secret], tool: 'list' } },
    tools: { list: { adapter: 'roster', path: './roster.json' } },
    // Else what a test sees would depend on the minute it runs in.
    reconcile: { schedule: hardlyEver },
    ...changes,
  };
  writeFileSync(configFile, JSON.stringify(config));
  const open = () => {
    const { url } = loadConfig({ path: configFile, env: {} }).config.database;
    const file = sqliteFileOf(url);
    if (file !== undefined && !existsSync(file)) writeFileSync(file, migrated, { mode: 0o600 });
    return openStorage(url);
  };

  return {
    folder,
    configFile,
    rosterFile,
    async receive(...bodies) {
      const { config: loaded } = loadConfig({ path: configFile, env: {} });
      const storage = await open();
      onTestFinished(() => storage.database.close());
      const { logger } = createLogLines();
      const app = createApp({
        config: loaded,
        storage,
        logger,
        adapters: await loadAdapters(loaded),
        pollMs,
        hasThreads: false,
      });
      const { receiverUrl } = await app.start();
      try {
        for (const body of bodies) {
          await post(`${receiverUrl}/webhooks/acme`, body, {
            'content-type': 'application/json',
            'x-opentrain-signature': sign(body, secret, Math.floor(Date.now() / 1000)),
            'x-opentrain-delivery': `dlv-${bodies.indexOf(body)}`,
          });
        }
        const countBusy = async () => {
          const members = await listMemberships(storage.database.kysely, { limit: 1000 });
          const now = new Date().toISOString();
          const moving = members.filter(
            ({ nextAttemptAt, removeAfter }) => nextAttemptAt !== null || (removeAfter !== null && removeAfter <= now),
          );
          return (await countDueDeliveries(storage)) + moving.length;
        };
        await until('all is done', countBusy, (busy) => busy === 0);
      } finally {
        await app.stop();
      }
    },
    async whileRunning(work) {
      const { config: loaded } = loadConfig({ path: configFile, env: {} });
      const storage = await open();
      onTestFinished(() => storage.database.close());
      const adapters = await loadAdapters(loaded);
      const { logger } = createLogLines();
      const app = createApp({ config: loaded, storage, logger, adapters, pollMs, hasThreads: false });
      await app.start();
      await work().finally(() => app.stop());
    },
    async pretendRunning() {
      const storage = await open();
      const beatAt = new Date(Date.now() + 3_600_000).toISOString();
      const instance = { id: 'pretended', name: 'host/1', version: '0.1.0', startedAt: beatAt };
      await beatInstance(storage.database, { ...instance, beatAt }, '');
      await storage.database.close();
    },
    async withStorage(work) {
      const storage = await open();
      await work(storage).finally(() => storage.database.close());
    },
  };
}
