import type { Logger } from '../../lib/logger.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import { type ClearDeps, clearImports } from './clear-imports.ts';

const everyMs = 10 * 60_000;

/** Clears imports that were given up or killed, even if no import follows them. */
export function createClearImportsWorker(
  deps: Pick<ClearDeps, 'database' | 'staging' | 'clock'> & { logger: Logger },
): Loop {
  const { logger, clock } = deps;
  return createLoop({
    name: 'clear-imports',
    intervalMs: everyMs,
    logger,
    clock,
    async run(signal, beat) {
      await clearImports({ ...deps, signal, onProgress: beat });
      return 'idle';
    },
  });
}
