import { createDatabaseClock } from '../db/database-clock.ts';
import { AppError } from '../domain/errors.ts';
import { systemClock } from '../lib/clock.ts';
import type { Loop } from '../lib/loop.ts';
import type { Asks, OperationContext } from '../operations/operation.ts';
import type { Session } from './session.ts';
import { loadRegistry, withStorage } from './with-storage.ts';

type Work = (ctx: OperationContext, loops: readonly Loop[]) => Promise<void>;

const secretsOf = { marketplace: ['installs'], tools: ['installs', 'tools'] };

/** Opens what an operation asks, and closes it after the work. @param isRead whether nothing may be written */
export async function withContext(session: Session, asks: Asks, isRead: boolean, work: Work): Promise<void> {
  if (asks === 'database') {
    await withDatabase(session, isRead, work);
    return;
  }
  const { withServices } = await import('./with-services.ts');
  const { createApprovals } = await import('../operator/approvals.ts');
  const { examineBridge } = await import('../operator/examine-bridge.ts');
  await withServices(session, { uses: secretsOf[asks], isDry: isRead }, async ({ services, registry }) => {
    const examine = (signal: AbortSignal) => examineBridge(services, signal);
    const approvals = createApprovals(services.logger);
    await work({ ...services, registry, approvals, reports: new Map(), examine }, services.loops);
  });
}

/** Loads neither the adapters nor the services: short commands are to be fast. */
async function withDatabase(session: Session, isRead: boolean, work: Work): Promise<void> {
  await withStorage(
    session,
    async ({ config, storage }) => {
      const registry = await loadRegistry({ config, storage });
      const clock = createDatabaseClock(storage.database, systemClock);
      await clock.correct();
      const { installs } = registry;
      const opened = { ...storage, config, clock, registry, installs, wake: () => undefined, reports: new Map() };
      await work(refuseOthers(opened), []);
    },
    { isDry: isRead },
  );
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
