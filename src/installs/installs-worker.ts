import type { Context } from '../context.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { shareReading } from '../lib/share-reading.ts';
import type { InstallRegistry } from './install-registry.ts';

export interface InstallsWorker extends Loop {
  /**
   * Loads what has changed up to now, for a caller that cannot wait for the next run. Callers that come
   * while it loads share the next load.
   */
  load(signal: AbortSignal): Promise<void>;
}

/**
 * Loads the installs that a command or another instance changed.
 *
 * @param onLoaded called after each load, with the installs that may be routed differently
 */
export function createInstallsWorker(
  ctx: Context,
  registry: InstallRegistry,
  onLoaded: (changed: string[]) => Promise<void>,
): InstallsWorker {
  /** Loaded but not passed on yet. The registry returns each change once, even if `onLoaded` fails. */
  const pending = new Set<string>();
  const loading = shareReading(async () => {
    for (const name of await registry.load()) pending.add(name);
  });
  const loop = createLoop({
    ...ctx,
    name: 'installs',
    async run(signal) {
      await loading.read(0, signal);
      const changed = [...pending];
      await onLoaded(changed);
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
