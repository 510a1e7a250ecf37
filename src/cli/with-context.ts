import { findConfiguration } from '../config/find-configuration.ts';
import { createDatabaseClock } from '../db/database-clock.ts';
import { AppError } from '../domain/errors.ts';
import { loadInstalls } from '../installs/load-installs.ts';
import { systemClock } from '../lib/clock.ts';
import type { Loop } from '../lib/loop.ts';
import type { Asks, Operation, OperationContext } from '../operations/operation.ts';
import type { Session } from './session.ts';
import { toQuery, withStorage } from './with-storage.ts';

type Work = (ctx: OperationContext, loops: readonly Loop[]) => Promise<void>;

/** Opens what an operation asks, and closes it after the work. A read writes nothing. */
export async function withContext(session: Session, operation: Operation, input: object, work: Work): Promise<void> {
  const isDry = operation.method === 'get';
  const uses = secretsOf(operation, input);
  if (operation.asks === 'database' || operation.asks === 'channels') {
    await withDatabase(session, operation.asks, { isDry, uses }, work);
    return;
  }
  const { withServices } = await import('./with-services.ts');
  const { examineBridge } = await import('../operations/doctor/examine.ts');
  await withServices(session, { uses, isDry }, async ({ services, registry }) => {
    const examine = (signal: AbortSignal) => examineBridge(services, signal);
    await work({ ...services, registry, examine }, services.loops);
  });
}

/** The parts of the configuration whose secrets are used. What the input names needs no secret of the others. */
function secretsOf({ asks }: Operation, input: object): string[] {
  const { install, tool, channel } = input as Partial<Record<string, string>>;
  const partOf = (part: string, name: string | undefined) => (name === undefined ? part : `${part}.${name}`);
  switch (asks) {
    case 'database':
    case 'services':
      return [];
    case 'channels':
      return [partOf('notifications.channels', channel), 'mail'];
    case 'marketplace':
      return [partOf('installs', install)];
    case 'tools':
      return [partOf('installs', install), partOf('tools', tool)];
  }
}

/** Loads neither the adapters nor the services: short commands are to be fast. */
async function withDatabase(
  session: Session,
  asks: Asks,
  needs: { isDry: boolean; uses: readonly string[] },
  work: Work,
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
      const { createChannels } = await import('../notify/create-channels.ts');
      opened.channels = createChannels(config, clock);
    }
    await work(refuseOthers(opened), []);
  });
}

/** An operation that asks the database alone has no tools, no marketplace and no alerts. */
function refuseOthers(opened: Partial<OperationContext>): OperationContext {
  return new Proxy(opened, {
    get(target, name, receiver) {
      if (Reflect.has(target, name)) return Reflect.get(target, name, receiver) as unknown;
      throw new AppError('internal', `The operation asks for the database, and uses ${String(name)}`);
    },
  }) as OperationContext;
}
