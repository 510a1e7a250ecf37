import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { type OpenStorage, openStorage } from '../app/storage.ts';
import type { Environment } from '../config/document.ts';
import { readEnvironment } from '../config/environment.ts';
import { type ConfigurationQuery, findConfiguration } from '../config/find-configuration.ts';
import { type LoadedConfig, loadConfig } from '../config/load-config.ts';
import type { By } from '../db/audit-store.ts';
import { createDatabaseClock } from '../db/database-clock.ts';
import { sqliteFileOf } from '../db/sqlite-database.ts';
import { AppError } from '../domain/errors.ts';
import { loadInstalls } from '../installs/load-installs.ts';
import { systemClock, toInstant } from '../lib/clock.ts';
import type { Operation, OperationContext } from '../operations/operation.ts';
import type { Session, StorageSession } from './session.ts';

export function toQuery({ line }: Session): ConfigurationQuery & { env: Environment } {
  return { path: line.config, env: readEnvironment(line) };
}

/** The configuration of a command. @param uses as in `ConfigurationQuery` */
export function loadCommandConfig(session: Session, uses?: readonly string[]): LoadedConfig {
  return loadConfig({ ...toQuery(session), ...(uses && { uses }) });
}

interface StorageNeeds {
  /** Whether it may create the database in any folder. */
  mayBeFirst?: boolean;
  /** Whether it may not create the database. */
  isDry?: boolean;
  uses?: readonly string[];
}

/** Opens the configured database for one command. */
export async function withStorage<Result>(
  session: Session,
  { mayBeFirst = false, isDry = false, uses = [] }: StorageNeeds,
  work: (session: StorageSession) => Promise<Result>,
): Promise<Result> {
  const loaded = loadCommandConfig(session, uses);
  if (!mayBeFirst) refuseMissing(loaded, isDry);
  const storage = await openConfigured(loaded);
  try {
    return await work({ ...session, storage, config: loaded.config });
  } finally {
    await storage.database.close();
  }
}

/** Without a configuration file, a relative path depends on the folder where the command runs. */
export function refuseMissing({ config, source }: LoadedConfig, isDry: boolean): void {
  const file = sqliteFileOf(config.database.url);
  const isByFolder = source.kind === 'environment';
  if (file === undefined || existsSync(file) || !(isByFolder || isDry)) return;
  const advice = isByFolder
    ? 'run this in the folder of the one that is meant'
    : 'set database.url to the one that is meant';
  throw new AppError(
    'not_found',
    `There is no database ${file} yet: ${advice}, or make it with "gangway connect" or "gangway start"`,
  );
}

export async function openConfigured({ config, secretKey }: LoadedConfig): Promise<OpenStorage> {
  return await openStorage(config.database.url, secretKey);
}

/** Who decides at the command line, and when, for the audit. */
export function decidedBy(): By {
  return { actor: actorName(), at: toInstant(systemClock.now()) };
}

/** A user in a container may have a number and no name. */
function actorName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}

/**
 * Opens what an operation about the database needs. It loads neither the adapters nor the services, because short
 * commands must be fast.
 */
export async function withDatabase(
  session: Session,
  { asks }: Operation,
  needs: StorageNeeds,
  work: (ctx: OperationContext) => Promise<void>,
): Promise<void> {
  await withStorage(session, needs, async ({ config, storage }) => {
    const installs = await loadInstalls(storage, config);
    const clock = createDatabaseClock(storage.database, systemClock);
    await clock.correct();
    const source = findConfiguration(toQuery(session));
    const configFile = source.kind === 'file' ? source.path : undefined;
    const opened: Partial<OperationContext> = {
      ...storage,
      config,
      configFile,
      clock,
      installs,
      wake: () => undefined,
    };
    if (asks === 'channels') {
      const { createChannels } = await import('../notify/channels.ts');
      opened.channels = createChannels(config, clock);
    }
    await work(refuseOthers(opened));
  });
}

/** An operation about the database has no tools, no marketplace and no alerts. */
function refuseOthers(opened: Partial<OperationContext>): OperationContext {
  return new Proxy(opened, {
    get(target, name, receiver) {
      if (Reflect.has(target, name)) return Reflect.get(target, name, receiver) as unknown;
      throw new AppError('internal', `The operation asks for the database, and uses ${String(name)}`);
    },
  }) as OperationContext;
}
