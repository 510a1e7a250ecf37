import { userInfo } from 'node:os';
import type { Command } from 'commander';
import type { Config } from '../config/config-schema.ts';
import { type LoadedConfig, loadConfig } from '../config/load-config.ts';
import { openRegistry } from '../create-works.ts';
import type { InstallRegistry } from '../installs/install-registry.ts';
import { systemClock, toInstant } from '../lib/clock.ts';
import { openStorage, type Storage } from '../open-storage.ts';
import type { By } from '../operator/audit-store.ts';
import type { Terminal } from './terminal.ts';

/** The configuration that a command was given, by `--config` anywhere on its line or by default. */
export function loadCommandConfig(command: Command): LoadedConfig {
  const { config } = command.optsWithGlobals<{ config?: string }>();
  return loadConfig(config === undefined ? {} : { path: config });
}

/** Opens the configured database for one command: the command line is one more instance. */
export async function withStorage(
  command: Command,
  work: (storage: Storage, config: Config) => Promise<void>,
): Promise<void> {
  const loaded = loadCommandConfig(command);
  const storage = await openConfigured(loaded);
  try {
    await work(storage, loaded.config);
  } finally {
    await storage.database.close();
  }
}

/** Who is at the command line, and when: what an audit remembers. */
export function decidedBy(): By {
  return { actor: actorName(), at: toInstant(systemClock.now()) };
}

/** In a container, a user may have a number and no name. */
function actorName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}

export async function openConfigured(loaded: LoadedConfig): Promise<Storage> {
  const { config, previousSecretKeys } = loaded;
  return await openStorage(config.database.url, secretKeyOf(loaded), previousSecretKeys);
}

/** All installs there are, of the configuration and of the database. */
export async function loadRegistry(
  { config }: Pick<LoadedConfig, 'config'>,
  storage: Storage,
): Promise<InstallRegistry> {
  const registry = openRegistry({ config, storage });
  await registry.load();
  return registry;
}

/** Undefined where a key file is to be used instead. */
export function secretKeyOf({ secretKey }: LoadedConfig): Buffer | undefined {
  return secretKey.source === 'none' ? undefined : secretKey.key;
}

/** JSON for machines where it was asked for, else lines for people. */
export function print(
  terminal: Terminal,
  json: true | undefined,
  data: object,
  text: () => string,
): void {
  terminal.stdout.write(`${json ? JSON.stringify(data) : text()}\n`);
}
