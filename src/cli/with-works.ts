import type { Command } from 'commander';
import type { Adapter } from '../adapters/adapter.ts';
import { loadAdapters } from '../adapters/load-adapters.ts';
import { createServices, type Services } from '../app/services.ts';
import type { Storage } from '../app/storage.ts';
import type { Config } from '../config/config-schema.ts';
import type { LoadedConfig } from '../config/load-config.ts';
import { type AliveLock, createAliveLock } from '../db/alive-lock.ts';
import { createDatabaseClock } from '../db/database-clock.ts';
import type { InstallRegistry } from '../installs/install-registry.ts';
import { createSealerNotice } from '../keys/sealer-notice.ts';
import { createSealerStore } from '../keys/sealer-store.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger } from '../lib/logger.ts';
import { createMetrics } from '../lib/metrics.ts';
import { keepHeapSmall } from '../lib/small-heap.ts';
import { loadCommandConfig, loadRegistry, openConfigured } from './command-context.ts';
import type { Terminal } from './terminal.ts';

/** What the works were made of. */
export interface Opened {
  config: Config;
  storage: Storage;
  registry: InstallRegistry;
  adapters: ReadonlyMap<string, Adapter>;
}

const quieterThanWarn: ReadonlySet<string> = new Set(['error', 'fatal', 'silent']);

/**
 * For a command that does the work of a running bridge, or helps one with it.
 *
 * @param isDry whether nothing is to be written at all
 */
export async function withWorks(
  terminal: Terminal,
  command: Command,
  isDry: boolean,
  work: (works: Services, opened: Opened) => Promise<void>,
): Promise<void> {
  await openWorks(terminal, loadCommandConfig(command), isDry, work);
}

/** The same for a command that calls no tool, and so needs no secret of a tool. */
export async function withWorksCallingNoTool(
  terminal: Terminal,
  command: Command,
  isDry: boolean,
  work: (works: Services, opened: Opened) => Promise<void>,
): Promise<void> {
  await openWorks(terminal, loadCommandConfig(command, { callsTools: false }), isDry, work);
}

async function openWorks(
  terminal: Terminal,
  loaded: LoadedConfig,
  isDry: boolean,
  work: (works: Services, opened: Opened) => Promise<void>,
): Promise<void> {
  keepHeapSmall();
  const { config } = loaded;
  const adapters = await loadAdapters(config);
  const storage = await openConfigured(loaded);
  let alive: AliveLock | undefined;
  try {
    const level = quieterThanWarn.has(config.log.level) ? config.log.level : 'warn';
    const logger = createLogger({ level, destination: terminal.stderr });
    const clock = createDatabaseClock(storage.database, systemClock);
    await clock.correct();
    alive = createAliveLock(storage.database, clock);
    if (!isDry) await alive.hold();
    const registry = await loadRegistry(loaded, storage);
    const metrics = createMetrics();
    const parts = { config, storage, logger, clock, adapters, registry, metrics };
    const notice = createSealerNotice({
      sealers: createSealerStore(storage.database),
      clock,
      logger,
      fingerprint: storage.box.fingerprint,
    });
    try {
      if (!isDry) await notice.start();
      const works = createServices({ ...parts, isDry });
      await work(works, { config, storage, registry, adapters }).finally(works.alertsStored);
    } finally {
      await notice.stop();
    }
  } finally {
    alive?.release();
    await storage.database.close();
  }
}

const sayEveryMs = 5000;

/** On work that takes long, a line now and then. */
export function createProgress({ stderr }: Terminal): (says: string) => void {
  let saidAt = performance.now();
  return (says) => {
    if (performance.now() - saidAt < sayEveryMs) return;
    saidAt = performance.now();
    stderr.write(`${says}\n`);
  };
}
