import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop, type Polling } from '../lib/loop.ts';
import type { InstallRegistry } from './install-registry.ts';

interface InstallsWorkerDeps extends Polling {
  registry: InstallRegistry;
  logger: Logger;
  clock: Clock;
  /** Called after each load, with the installs that may be routed differently. */
  onLoaded(changed: string[]): Promise<void>;
}

/** Loads the installs that a command or another instance changed. */
export function createInstallsWorker({ registry, ...deps }: InstallsWorkerDeps): Loop {
  /** Loaded but not passed on yet. The registry returns each change once, even if `onLoaded` fails. */
  const pending = new Set<string>();
  return createLoop({
    name: 'installs',
    pollMs: deps.pollMs,
    logger: deps.logger,
    clock: deps.clock,
    async run() {
      for (const name of await registry.load()) pending.add(name);
      await deps.onLoaded([...pending]);
      pending.clear();
      return 'idle';
    },
  });
}
