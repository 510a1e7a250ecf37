import type { Adapter } from '../adapters/adapter.ts';
import type { Services } from '../app/services.ts';
import type { Storage } from '../app/storage.ts';
import type { Config } from '../config/config-schema.ts';
import type { InstallRegistry } from '../installs/install-registry.ts';
import type { Terminal } from './terminal.ts';

/** What a command runs with: types alone, so that a command can be declared without what it opens. */

export interface Session {
  terminal: Terminal;
  /** What the line says about the configuration. */
  line: { config?: string; envFile?: string };
  /** Ends the command as used wrongly: with this error, and status 64. */
  misuse(error: string): never;
}

/** The database is open. */
export interface StorageSession extends Session {
  config: Config;
  storage: Storage;
}

/** The services of a running bridge are there too. */
export interface ServicesSession extends StorageSession {
  services: Services;
  registry: InstallRegistry;
  adapters: ReadonlyMap<string, Adapter>;
}

/** By what a command declares that it opens. */
export interface Sessions {
  nothing: Session;
  storage: StorageSession;
  services: ServicesSession;
}
