import { once } from 'node:events';
import { Command } from 'commander';
import { createApp } from '../app.ts';
import { createLogger } from '../lib/logger.ts';
import { openStorage } from '../open-storage.ts';
import { loadCommandConfig } from './command-context.ts';
import type { Terminal } from './terminal.ts';

/** `gangway start`: receives, provisions, and runs until it is told to stop. */
export function createStartCommand(terminal: Terminal): Command {
  return new Command('start')
    .description('receive deliveries and keep the tools in line, until stopped')
    .option('--json', 'print the addresses as one JSON object on stdout')
    .action((options: { json?: true }, command: Command) => runStart(terminal, command, options));
}

export async function runStart(
  terminal: Terminal,
  command: Command,
  { json }: { json?: true } = {},
): Promise<void> {
  const { config, secretKey, warnings } = loadCommandConfig(command);
  const logger = createLogger({ level: config.log.level, destination: terminal.stderr });
  for (const warning of warnings) logger.warn(warning);
  const key = secretKey.source === 'none' ? undefined : secretKey.key;
  const storage = await openStorage(config.database.url, key);
  try {
    const app = createApp({ config, storage, logger });
    try {
      const addresses = await app.start();
      logger.info(addresses, 'Gangway is running');
      if (json) terminal.stdout.write(`${JSON.stringify(addresses)}\n`);
      if (!terminal.signal.aborted) await once(terminal.signal, 'abort');
      logger.info('Gangway is stopping');
    } finally {
      // Also what began to start: a listener left open would keep the process alive.
      await app.stop();
    }
  } finally {
    await storage.database.close();
  }
  logger.info('Gangway has stopped');
}
