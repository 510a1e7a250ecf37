import { loadAdapters } from '../adapters/load-adapters.ts';
import { createServices } from '../app/services.ts';
import { type AliveLock, createAliveLock } from '../db/alive-lock.ts';
import { limitCache } from '../db/database.ts';
import { createDatabaseClock } from '../db/database-clock.ts';
import { createInstallRegistry } from '../installs/install-registry.ts';
import { checkKey } from '../keys/secret-key.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger } from '../lib/logger.ts';
import { createMetrics } from '../lib/metrics.ts';
import { toLogDestination } from '../lib/readable-log.ts';
import { keepMemorySmall } from '../lib/small-heap.ts';
import { findLocalTools } from '../tools/accounts.ts';
import { carryTools, refuseTwins } from '../tools/bind-tool.ts';
import type { ServicesSession, Session } from './session.ts';
import { loadCommandConfig, openConfigured } from './with-storage.ts';

interface ServiceNeeds {
  /** The parts of the configuration whose secrets are used. */
  uses: readonly string[];
  /** Whether nothing may be written. */
  isDry?: boolean;
}

const quieterThanWarn: ReadonlySet<string> = new Set(['error', 'fatal', 'silent']);

/** Opens the services, for a command that does the work of a running instance, alone or beside it. */
export async function withServices(
  session: Session,
  { uses, isDry = false }: ServiceNeeds,
  work: (session: ServicesSession) => Promise<void>,
): Promise<void> {
  keepMemorySmall();
  const loaded = loadCommandConfig(session, uses);
  const { config } = loaded;
  const adapters = await loadAdapters(config);
  const storage = await openConfigured(loaded);
  let alive: AliveLock | undefined;
  try {
    await limitCache(storage.database);
    const level = quieterThanWarn.has(config.log.level) ? config.log.level : 'warn';
    const logger = createLogger({ level, destination: toLogDestination(config.log.format, session.terminal.stderr) });
    const clock = createDatabaseClock(storage.database, systemClock);
    await clock.correct();
    alive = createAliveLock(storage.database, clock, findLocalTools(adapters));
    refuseTwins(config.tools, adapters);
    if (!isDry) {
      await alive.hold('command');
      // The key may have been rotated before the lock was held.
      await checkKey(storage.database, storage.box);
      await carryTools(storage, config.tools, logger);
    }
    const registry = createInstallRegistry(storage, config);
    await registry.load();
    const metrics = createMetrics();
    const services = createServices({ config, storage, logger, clock, adapters, registry, metrics, isDry });
    await work({ ...session, config, storage, registry, services }).finally(services.alertsStored);
  } finally {
    alive?.release();
    await storage.database.close();
  }
}
