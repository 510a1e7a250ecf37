import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop, type Polling } from '../lib/loop.ts';
import { shareReading } from '../lib/share-reading.ts';
import type { InstallRegistry } from './install-registry.ts';

export interface InstallsWorker extends Loop {
  /**
   * Loads what has changed up to now, for a caller that cannot wait for the next run. Callers that come
   * while it loads share the next load.
   */
  load(signal: AbortSignal): Promise<void>;
}

interface InstallsWorkerDeps extends Polling {
  registry: InstallRegistry;
  logger: Logger;
  clock: Clock;
  /** Called after each load, with the installs that may be routed differently. */
  onLoaded(changed: string[]): Promise<void>;
}

/** Loads the installs that a command or another instance changed. */
export function createInstallsWorker({ registry, ...deps }: InstallsWorkerDeps): InstallsWorker {
  /** Loaded but not passed on yet. The registry returns each change once, even if `onLoaded` fails. */
  const pending = new Set<string>();
  const loading = shareReading(async () => {
    for (const name of await registry.load()) pending.add(name);
  });
  const loop = createLoop({
    name: 'installs',
    pollMs: deps.pollMs,
    logger: deps.logger,
    clock: deps.clock,
    async run(signal) {
      await loading.read(0, signal);
      const changed = [...pending];
      await deps.onLoaded(changed);
      for (const name of changed) pending.delete(name);
      return 'idle';
    },
  });
  return {
    ...loop,
    async load(signal) {
      await loading.read(0, signal);
      if (pending.size > 0) loop.wake();
    },
  };
}
