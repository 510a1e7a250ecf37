import type { Command } from 'commander';
import { type LoadedConfig, loadConfig } from '../config/load-config.ts';
import { openStorage, type Storage } from '../open-storage.ts';
import type { Terminal } from './terminal.ts';

/** The configuration that a command was given, by `--config` anywhere on its line or by default. */
export function loadCommandConfig(command: Command): LoadedConfig {
  const { config } = command.optsWithGlobals<{ config?: string }>();
  return loadConfig(config === undefined ? {} : { path: config });
}

/** Opens the configured database for one command: the command line is one more instance. */
export async function withStorage(
  command: Command,
  work: (storage: Storage) => Promise<void>,
): Promise<void> {
  const { config, secretKey } = loadCommandConfig(command);
  const key = secretKey.source === 'none' ? undefined : secretKey.key;
  const storage = await openStorage(config.database.url, key);
  try {
    await work(storage);
  } finally {
    await storage.database.close();
  }
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
