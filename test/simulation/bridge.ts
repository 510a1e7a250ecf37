import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { KyselyPlugin } from 'kysely';
import type { Adapter } from '../../src/adapters/adapter.ts';
import { type App, createApp } from '../../src/app/app.ts';
import type { Storage } from '../../src/app/storage.ts';
import { Config } from '../../src/config/config-schema.ts';
import type { Database } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { createInboxStore } from '../../src/inbox/inbox-store.ts';
import { openSecretBox, prepareKeyRing } from '../../src/keys/secret-key.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { createMembershipStore } from '../../src/memberships/membership-store.ts';
import { clockwork, never, type Owner, runAs } from './clockwork.ts';

/** Gangway itself, as one process of the simulation. All of it is real but the network, the time and the tools. */
export interface Bridge {
  readonly owner: Owner;
  readonly receiverUrl: string;
  /** Looks into its database past all that is under way. */
  readonly database: Database;
  stop(): Promise<void>;
  /** The process ends where it is: nothing of it goes on, and what was not committed is gone. */
  kill(): Promise<void>;
}

export interface BridgeSettings {
  name: string;
  /** The file of its database, which instances share. */
  file: string;
  config: object;
  adapters: ReadonlyMap<string, Adapter>;
  aheadMs: number;
  isRestored?: boolean;
  onLog(line: string): void;
  /** Thrown by the next statement that writes, where there is one. */
  diskFault(): Error | undefined;
}

const key = Buffer.alloc(32, 7);
/** What is due by time alone is seen so late, at most. */
const pollMs = 120_000;
/** The same of what another process has written. */
const seenWithinMs = 120_000;

export async function openBridge(settings: BridgeSettings): Promise<Bridge> {
  const { name, file, adapters, aheadMs, isRestored = false } = settings;
  const owner: Owner = { name, isDead: false };
  const raw = openDatabase(`sqlite:${file}`);
  const database = inTurns(raw, owner, settings.diskFault);
  const now = () => new Date(clockwork.nowMs() + aheadMs);
  const opened = await runAs(owner, async () => {
    const storage = await openStorage(database);
    const app = createApp({
      config: Config.parse(settings.config),
      storage,
      adapters,
      clock: { now },
      logger: createLogger({
        level: 'info',
        destination: { write: (line: string) => (owner.isDead ? undefined : settings.onLog(line)) },
      }),
      pollMs,
      hasStorageThread: false,
    });
    return await start(app, isRestored);
  });
  let isOpen = true;
  return {
    owner,
    database: raw,
    receiverUrl: opened.receiverUrl,
    async stop() {
      await runAs(owner, () => opened.app.stop());
      owner.isDead = true;
      if (isOpen) await raw.close();
      isOpen = false;
    },
    async kill() {
      owner.isDead = true;
      if (isOpen) await raw.close();
      isOpen = false;
    },
  };
}

async function start(app: App, _isRestored: boolean): Promise<{ app: App; receiverUrl: string }> {
  const { receiverUrl } = await app.start();
  return { app, receiverUrl };
}

async function openStorage(database: Database): Promise<Storage> {
  const keys = await prepareKeyRing(database, key, []);
  const box = await openSecretBox(database, keys);
  return {
    database,
    box,
    secretKey: keys.key,
    inbox: createInboxStore(database, box),
    memberships: createMembershipStore(database),
    migrated: [],
  };
}

/** After each statement everything else may go on, or the process may be gone. */
function inTurns(raw: Database, owner: Owner, diskFault: () => Error | undefined): Database {
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      const fault = node.kind === 'SelectQueryNode' ? undefined : diskFault();
      if (fault !== undefined) throw fault;
      return node;
    },
    async transformResult({ result }) {
      await clockwork.turn();
      return result;
    },
  };
  return {
    ...raw,
    watch: (onChange) => raw.watch(seldom(onChange), seenWithinMs),
    // Nothing beside it, as threads and files have an order of their own.
    url: 'sqlite::memory:',
    kysely: raw.kysely.withPlugin(plugin),
    async transact(work, isDurable) {
      if (owner.isDead) return await never();
      const result = await raw.transact((tx) => work(tx.withPlugin(plugin)), isDurable);
      await clockwork.turn();
      return result;
    },
  };
}

const memory = '/dev/shm';

/** Where nothing happens, heartbeats are all that is written. */
function seldom(onChange: () => void): () => void {
  let changes = 0;
  return () => {
    changes += 1;
    if (!clockwork.isIdle() || changes % 8 === 0) onChange();
  };
}

/** A folder of databases in memory where the system has one, gone after the simulation. */
export async function openFolder(): Promise<{ create(): string; copy(from: string): string; remove(): void }> {
  const folder = mkdtempSync(path.join(existsSync(memory) ? memory : tmpdir(), 'gangway-simulation-'));
  const template = path.join(folder, 'template.db');
  const database = openDatabase(`sqlite:${template}`);
  await migrate(database);
  await database.close();
  let made = 0;
  const copy = (from: string) => {
    made += 1;
    const file = path.join(folder, `${made}.db`);
    copyFileSync(from, file);
    return file;
  };
  return { copy, create: () => copy(template), remove: () => rmSync(folder, { recursive: true, force: true }) };
}
