import type { Services } from '../app/services.ts';
import type { OpenStorage } from '../app/storage.ts';
import type { Config } from '../config/config-schema.ts';
import type { InstallRegistry } from '../installs/install-registry.ts';
import type { Terminal } from './terminal.ts';

/** What a command runs with. These are types only, so that declaring a command loads nothing that it opens. */

export interface Session {
  terminal: Terminal;
  /** The options of the command line that name the configuration. */
  line: { config?: string; envFile?: string; remote?: string };
  /** Ends the command as used wrongly: with this error, and status 64. */
  misuse(error: string): never;
}

/** The database is open. */
export interface StorageSession extends Session {
  config: Config;
  storage: OpenStorage;
}

/** The services of a running bridge are created too. */
export interface ServicesSession extends StorageSession {
  services: Services;
  registry: InstallRegistry;
}

/** A running instance answers instead of the database here. */
export interface RemoteSession extends Session {
  /** @throws AppError by the answer */
  ask<Answer>(operation: OperationName, given?: RemoteGiven): Promise<Answer>;
}

/** As the document of the API writes it: `GET /plans/{plan}`. */
export type OperationName = `${'GET' | 'POST'} /${string}`;

export interface RemoteGiven {
  params?: Readonly<Record<string, string | number>>;
  /** What is undefined is left out. */
  query?: Readonly<Record<string, string | number | boolean | undefined>>;
  body?: object;
}

/** The session of a command, by what the command declares that it opens. */
export interface Sessions {
  nothing: Session;
  storage: StorageSession;
  services: ServicesSession;
}
