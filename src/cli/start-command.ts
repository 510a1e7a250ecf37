import { once } from 'node:events';
import { loadAdapters } from '../adapters/load-adapters.ts';
import { createApp } from '../app/app.ts';
import type { LoadedConfig } from '../config/load-config.ts';
import { createLogger, type Logger } from '../lib/logger.ts';
import { version } from '../lib/version.ts';
import type { Session } from './session.ts';
import type { Terminal } from './terminal.ts';
import { loadCommandConfig, openConfigured } from './with-storage.ts';

interface StartOptions {
  json: boolean;
  acceptOrphans: boolean;
  restored: boolean;
}

/** `gangway start`: receives, provisions, and runs until it is told to stop. */
export async function start(options: StartOptions, session: Session): Promise<undefined> {
  const { terminal } = session;
  const loaded = loadCommandConfig(session);
  const { config, warnings } = loaded;
  const logger = createLogger({ level: config.log.level, destination: terminal.stderr });
  for (const warning of warnings) logger.warn(warning);
  // It would end the process, and with that everything, at the wish of a log rotation.
  const noteHangUp = () => logger.info('SIGHUP ends nothing: restart for another configuration');
  process.on('SIGHUP', noteHangUp);
  try {
    await run(terminal, loaded, logger, options);
  } finally {
    process.off('SIGHUP', noteHangUp);
  }
}

async function run(
  terminal: Terminal,
  loaded: LoadedConfig,
  logger: Logger,
  { json, acceptOrphans, restored }: StartOptions,
): Promise<void> {
  const { config } = loaded;
  const adapters = await loadAdapters(config);
  const storage = await openConfigured(loaded);
  try {
    const app = createApp({ config, storage, logger, adapters, acceptsOrphans: acceptOrphans, isRestored: restored });
    try {
      const addresses = await app.start();
      logger.info({ version, ...addresses }, 'Gangway is running');
      if (json) terminal.stdout.write(`${JSON.stringify(addresses)}\n`);
      if (!terminal.signal.aborted) await once(terminal.signal, 'abort');
      const { drainMs } = config.receiver;
      logger.info({ drainMs }, 'Gangway is stopping: deliveries are to go elsewhere');
    } finally {
      // Also what began to start: a listener left open would keep the process alive.
      await app.stop();
    }
  } finally {
    await storage.database.close();
  }
  logger.info('Gangway has stopped');
}
