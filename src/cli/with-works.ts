import type { Command } from 'commander';
import { loadAdapters } from '../adapters/load-adapters.ts';
import type { Config } from '../config/config-schema.ts';
import { createWorks, type Works } from '../create-engine.ts';
import { createDatabaseClock } from '../db/database-clock.ts';
import { createSealerNotice } from '../keys/sealer-notice.ts';
import { createSealerStore } from '../keys/sealer-store.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger } from '../lib/logger.ts';
import { createMetrics } from '../lib/metrics.ts';
import type { Storage } from '../open-storage.ts';
import { loadCommandConfig, openConfigured } from './command-context.ts';
import type { Terminal } from './terminal.ts';

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
  work: (works: Works, config: Config, storage: Storage) => Promise<void>,
): Promise<void> {
  const loaded = loadCommandConfig(command);
  const { config } = loaded;
  const adapters = await loadAdapters(config);
  const storage = await openConfigured(loaded);
  try {
    const level = quieterThanWarn.has(config.log.level) ? config.log.level : 'warn';
    const logger = createLogger({ level, destination: terminal.stderr });
    const clock = createDatabaseClock(storage.database, systemClock);
    await clock.correct();
    const parts = { config, storage, logger, clock, adapters, metrics: createMetrics() };
    const notice = createSealerNotice({
      ...{ sealers: createSealerStore(storage.database), clock, logger },
      fingerprint: storage.box.fingerprint,
    });
    try {
      if (!isDry) await notice.start();
      await work(createWorks(parts), config, storage);
    } finally {
      await notice.stop();
    }
  } finally {
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
