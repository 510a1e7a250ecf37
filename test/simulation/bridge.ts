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

/** One process of Gangway. Everything in it is real except the network, the clock and the tools. */
export interface Bridge {
  /** Ends the process at once: nothing in it goes on, and uncommitted data is lost. */
  kill(): Promise<void>;
}

/** Counts the writes to a database, by any process. */
export interface Changes {
  count: number;
}

export interface BridgeSettings {
  name: string;
  /** The database file, which instances share. */
  file: string;
  changes: Changes;
  config: object;
  /** Whether the simulation covers weeks in which little happens. */
  isQuiet: boolean;
  /** Whether an operator confirms that the configuration no longer covers some people who are in. */
  acceptsOrphans: boolean;
  adapters: ReadonlyMap<string, Adapter>;
  aheadMs: number;
  onLog(line: string): void;
  /** The error that the next writing statement throws, if any. */
  diskFault(): Error | undefined;
}

type Turning = Pick<BridgeSettings, 'changes' | 'isQuiet' | 'diskFault'> & { owner: Owner };

const key = Buffer.alloc(32, 7);
/** How late, at most, work is noticed that becomes due by time alone. */
const pollMs = 120_000;
/** How late, at most, writes of another process are noticed. */
const seenWithinMs = 120_000;
/** While hardly anything happens, only every so many checks are made. */
const looksWhileIdle = { usual: 8, quiet: 30 };

export async function openBridge(settings: BridgeSettings): Promise<Bridge> {
  const { name, file, adapters, aheadMs } = settings;
  const owner: Owner = { name, isDead: false };
  // The disk takes its own time, and here only processes die.
  const raw = openDatabase(`sqlite:${file}`, { sync: async () => undefined });
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
      startOptions: { acceptsOrphans: settings.acceptsOrphans },
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
    // A process that could not start is dead, with everything that it began.
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

/** After each statement, anything else may go on, or the process may die. */
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
      // While nothing happens, nothing comes between two statements.
      if (!clockwork.isIdle()) await clockwork.turn();
      return answer.result;
    },
  };
  return {
    ...raw,
    watch: (onChange) => watch(changes, isQuiet ? looksWhileIdle.quiet : looksWhileIdle.usual, onChange),
    // Looks like a database in memory, so that no threads or files are used: their order is not the seed's.
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

/** Processes write about themselves all the time, which is no reason for a loop to run. */
const aboutProcesses = new Set(['instance', 'namedLock', 'setting']);

function isAboutProcesses(node: RootOperationNode): boolean {
  const table = tableOf(node);
  return table !== undefined && TableNode.is(table) && aboutProcesses.has(table.table.identifier.name);
}

/** The table that a statement writes. */
function tableOf(node: RootOperationNode): OperationNode | undefined {
  if (node.kind === 'InsertQueryNode') return node.into;
  if (node.kind === 'UpdateQueryNode') return node.table;
  return node.kind === 'DeleteQueryNode' ? node.from.froms[0] : undefined;
}

/** Checks for changes, and less often while hardly anything happens. */
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

/** A folder for databases, in memory if the system allows it. It is deleted after the simulation. */
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
