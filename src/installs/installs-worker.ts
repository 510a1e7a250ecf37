import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop, type Polling } from '../lib/loop.ts';
import type { InstallRegistry } from './install-registry.ts';

interface InstallsWorkerDeps extends Polling {
  registry: InstallRegistry;
  logger: Logger;
  clock: Clock;
  /** Told whenever something was loaded: what may be routed differently by it. */
  onLoaded(changed: string[]): Promise<void>;
}

/** Has what was connected beside it, by command or by another instance, take effect here. */
export function createInstallsWorker({ registry, ...deps }: InstallsWorkerDeps): Loop {
  /** Loaded, and not told of yet: the registry tells of each change once, whatever fails after it. */
  const untold = new Set<string>();
  return createLoop({
    name: 'installs',
    pollMs: deps.pollMs,
    logger: deps.logger,
    clock: deps.clock,
    async run() {
      for (const name of await registry.load()) untold.add(name);
      await deps.onLoaded([...untold]);
      untold.clear();
      return 'idle';
    },
  });
}
