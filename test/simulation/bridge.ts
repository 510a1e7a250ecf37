import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type KyselyPlugin, type OperationNode, type RootOperationNode, TableNode } from 'kysely';
import type { Adapter } from '../../src/adapters/adapter.ts';
import { createApp } from '../../src/app/app.ts';
import type { OpenStorage } from '../../src/app/storage.ts';
import { Config } from '../../src/config/config-schema.ts';
import { createChangeNotice } from '../../src/db/change-notice.ts';
import type { Database, DatabaseWatch } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { openSecretBox, prepareKey } from '../../src/keys/secret-key.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { clockwork, never, type Owner, runAs } from './clockwork.ts';

/** Gangway itself, as one process of the simulation. All of it is real but the network, the time and the tools. */
export interface Bridge {
  /** The process ends where it is: nothing of it goes on, and what was not committed is gone. */
  kill(): Promise<void>;
}

/** What was written into a database, by whichever process. */
export interface Changes {
  count: number;
}

export interface BridgeSettings {
  name: string;
  /** The file of its database, which instances share. */
  file: string;
  changes: Changes;
  config: object;
  /** Whether little happens for weeks. */
  isQuiet: boolean;
  /** Whether an operator says that the configuration may leave out people who are in. */
  acceptsOrphans: boolean;
  adapters: ReadonlyMap<string, Adapter>;
  aheadMs: number;
  onLog(line: string): void;
  /** Thrown by the next statement that writes, where there is one. */
  diskFault(): Error | undefined;
}

type Turning = Pick<BridgeSettings, 'changes' | 'isQuiet' | 'diskFault'> & { owner: Owner };

const key = Buffer.alloc(32, 7);
/** What is due by time alone is seen so late, at most. */
const pollMs = 120_000;
/** The same of what another process has written. */
const seenWithinMs = 120_000;
/** Where hardly anything happens, each so many looks alone. */
const looksWhileIdle = { usual: 8, quiet: 30 };

export async function openBridge(settings: BridgeSettings): Promise<Bridge> {
  const { name, file, adapters, aheadMs } = settings;
  const owner: Owner = { name, isDead: false };
  const raw = openDatabase(`sqlite:${file}`);
  const database = inTurns(raw, { ...settings, owner });
  const now = () => new Date(clockwork.nowMs() + aheadMs);
  async function kill(): Promise<void> {
    if (owner.isDead) return;
    owner.isDead = true;
    await raw.close();
  }
  async function start(): Promise<void> {
    const storage = await openStorage(database);
    const app = createApp({
      config: Config.parse(settings.config),
      storage,
      adapters,
      acceptsOrphans: settings.acceptsOrphans,
      clock: { now },
      logger: createLogger({
        level: 'info',
        destination: { write: (line: string) => (owner.isDead ? undefined : settings.onLog(line)) },
      }),
      pollMs,
      hasThreads: false,
    });
    await app.start();
  }
  try {
    await runAs(owner, start);
  } catch (error) {
    // A process that could not start is gone, with all that it had begun.
    await kill();
    throw error;
  }
  return { kill };
}

async function openStorage(database: Database): Promise<OpenStorage> {
  const secretKey = await prepareKey(database, key);
  const box = await openSecretBox(database, secretKey);
  return {
    database,
    box,
    secretKey,
    migrated: [],
  };
}

/** After each statement everything else may go on, or the process may be gone. */
function inTurns(raw: Database, { owner, diskFault, changes, isQuiet }: Turning): Database {
  const notice = createChangeNotice(() => {
    changes.count += 1;
  });
  const plugin: KyselyPlugin = {
    transformQuery(query) {
      const { node } = query;
      const fault = node.kind === 'SelectQueryNode' ? undefined : diskFault();
      if (fault !== undefined) throw fault;
      return isAboutProcesses(node) ? node : notice.plugin.transformQuery(query);
    },
    async transformResult(answer) {
      await notice.plugin.transformResult(answer);
      // Where nothing happens nothing comes between two statements.
      if (!clockwork.isIdle()) await clockwork.turn();
      return answer.result;
    },
  };
  return {
    ...raw,
    watch: (onChange) => watch(changes, isQuiet ? looksWhileIdle.quiet : looksWhileIdle.usual, onChange),
    // Nothing beside it, as threads and files have an order of their own.
    url: 'sqlite::memory:',
    kysely: raw.kysely.withPlugin(plugin),
    async transact(work, isDurable) {
      if (owner.isDead) return await never();
      const result = await notice.within(() => raw.transact((tx) => work(tx.withPlugin(plugin)), isDurable));
      await clockwork.turn();
      return result;
    },
  };
}

/** What processes write about themselves, all the time, is no reason for any loop to look. */
const aboutProcesses = new Set(['instance', 'namedLock', 'setting']);

function isAboutProcesses(node: RootOperationNode): boolean {
  const table = tableOf(node);
  return table !== undefined && TableNode.is(table) && aboutProcesses.has(table.table.identifier.name);
}

/** Which is written. */
function tableOf(node: RootOperationNode): OperationNode | undefined {
  if (node.kind === 'InsertQueryNode') return node.into;
  if (node.kind === 'UpdateQueryNode') return node.table;
  return node.kind === 'DeleteQueryNode' ? node.from.froms[0] : undefined;
}

/** Seldom, where hardly anything happens. */
function watch(changes: Changes, idleLooks: number, onChange: () => void): DatabaseWatch {
  let seen = changes.count;
  let looks = 0;
  const timer = setInterval(() => {
    looks += 1;
    if (changes.count === seen || (clockwork.isIdle() && looks % idleLooks !== 0)) return;
    seen = changes.count;
    onChange();
  }, seenWithinMs);
  return { stop: async () => clearInterval(timer) };
}

const memory = '/dev/shm';

/** A folder of databases in memory where the system has one, gone after the simulation. */
export async function openFolder(): Promise<{ create(): string; next(): string; remove(): void }> {
  const folder = mkdtempSync(path.join(existsSync(memory) ? memory : tmpdir(), 'gangway-simulation-'));
  const template = path.join(folder, 'template.db');
  const database = openDatabase(`sqlite:${template}`);
  await migrate(database);
  await database.close();
  let made = 0;
  const next = () => {
    made += 1;
    return path.join(folder, `${made}.db`);
  };
  const create = () => {
    const file = next();
    copyFileSync(template, file);
    return file;
  };
  return { create, next, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
