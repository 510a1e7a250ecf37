import { once } from 'node:events';
import { loadAdapters } from '../adapters/load-adapters.ts';
import { createApp } from '../app/app.ts';
import type { Config } from '../config/config-schema.ts';
import { findConfiguration } from '../config/find-configuration.ts';
import type { LoadedConfig } from '../config/load-config.ts';
import { AppError } from '../domain/errors.ts';
import { createSignInLink, type SignInLink } from '../http/console/sign-in.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger, type Logger } from '../lib/logger.ts';
import { toLogDestination } from '../lib/readable-log.ts';
import { giveMemoryBack, keepMemorySmall } from '../lib/small-heap.ts';
import { sayCount } from '../lib/text.ts';
import { version } from '../lib/version.ts';
import type { startOptions } from './commands/inputs.ts';
import type { GivenOf } from './options.ts';
import type { Session, Terminal } from './session.ts';
import { loadCommandConfig, openConfigured, toQuery } from './with-storage.ts';

type StartOptions = GivenOf<typeof startOptions>;

/** `gangway start`: receives and provisions until it is stopped. */
export async function runStart(options: StartOptions, session: Session): Promise<undefined> {
  const { terminal } = session;
  const loaded = loadCommandConfig(session);
  const { config, warnings } = loaded;
  const logger = createLogger({
    level: config.log.level,
    destination: toLogDestination(config.log.format, terminal.stderr),
  });
  for (const warning of warnings) logger.warn(warning);
  // Log rotation sends a hang-up, which ends a process by default.
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
  { json, acceptOrphans, restored, move }: StartOptions,
): Promise<void> {
  keepMemorySmall();
  const { config } = loaded;
  const adapters = await loadAdapters(config);
  const storage = await openConfigured(loaded);
  const keepMemory = giveMemoryBack();
  // A log that is collected must not have a link that signs in.
  const isWatched = terminal.stderr.isTTY === true && config.log.format !== 'json';
  const isSignedInBy = isWatched && [...config.console.tokens.values()].some(({ role }) => role === 'operator');
  const signInLink = isSignedInBy ? createSignInLink(systemClock) : undefined;
  try {
    const configFile = loaded.source.kind === 'file' ? loaded.source.path : undefined;
    const app = createApp({
      config,
      configFile,
      storage,
      logger,
      adapters,
      startOptions: { acceptsOrphans: acceptOrphans, isRestored: restored, isMoved: move },
      signInLink,
    });
    try {
      const addresses = await app.start();
      if (isWatched) terminal.stderr.write(sayRunning(config, app.installs.size, addresses, signInLink));
      else logger.info({ version, ...addresses }, 'Gangway is running');
      if (json) terminal.stdout.write(`${JSON.stringify(addresses)}\n`);
      if (!terminal.signal.aborted) await once(terminal.signal, 'abort');
      const { drainMs } = config.receiver;
      logger.info({ drainMs }, 'Gangway is stopping. Deliveries should go to another instance');
    } finally {
      // Also after a failed start, because an open listener would keep the process alive.
      await app.stop();
    }
  } finally {
    keepMemory();
    await storage.database.close();
  }
  logger.info('Gangway has stopped');
}

function sayRunning(
  { receiver, console, tools }: Config,
  installs: number,
  { receiverUrl, consoleUrl }: { receiverUrl: string; consoleUrl: string },
  signInLink: SignInLink | undefined,
): string {
  const { publicUrl } = receiver;
  const counted = `${sayCount(installs, 'install')}, ${sayCount(tools.size, 'tool')} (${[...tools.keys()].join(', ')})`;
  const address = `${publicUrl ?? receiverUrl}/webhooks/<install>`;
  const asks = publicUrl === undefined ? '  (Gangway asks the marketplace: receiver.publicUrl is not set)' : '';
  const link = signInLink && `${consoleUrl}/sign-in/${signInLink.code}  (works once, for 10 minutes)`;
  const off = 'off: add console.tokens to the configuration and restart';
  return [
    `Gangway ${version} is running: ${counted}. Ctrl-C stops it.`,
    `  webhooks  ${address}${asks}`,
    `  console   ${link ?? (console.tokens.size > 0 ? consoleUrl : off)}`,
    '',
  ].join('\n');
}

/** `gangway auto`: `gangway start`, or without a configuration `gangway try`. */
export async function runAuto({ exit, json }: { exit: boolean; json: boolean }, session: Session) {
  const found = findConfiguration(toQuery(session));
  if (found.kind === 'none') {
    const { runTry } = await import('./try-command.ts');
    return await runTry({ exit, json, employer: false }, session);
  }
  if (exit) throw new AppError('invalid', '--exit is for `try`, and there is a configuration');
  return await runStart({ json, acceptOrphans: false, restored: false, move: false }, session);
}
