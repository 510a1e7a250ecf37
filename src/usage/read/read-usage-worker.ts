import { toInstant } from '../../lib/clock.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import { listScopes, type ReadScopeDeps, readingMs, readNextScope } from './read-scope.ts';

const pollMs = 1000;
/** So often it is looked whether somebody may work in a scope that was never read. */
const discoverEveryMs = 60_000;

/** Reads the work in every scope of a tool where that was asked for, and at new ones at once. */
export function createReadUsageWorker(deps: ReadScopeDeps, tool: string): Loop {
  const { scopes, logger, clock } = deps;
  let discoveredAt = Number.NEGATIVE_INFINITY;
  return createLoop({
    name: `read-usage ${tool}`,
    intervalMs: pollMs,
    logger,
    clock,
    // One reading and what is merged of it.
    stallMs: 2 * readingMs,
    async run(signal) {
      const now = clock.now();
      const isDiscoveryDue = now.getTime() - discoveredAt >= discoverEveryMs;
      if (isDiscoveryDue || (await scopes.isScopeMissing(tool, toInstant(now)))) {
        const all = [...(await listScopes(deps)).values()];
        await scopes.keep(
          all.filter((workScope) => workScope.tool === tool),
          toInstant(now),
        );
        discoveredAt = now.getTime();
      }
      if ((await scopes.countDue(toInstant(now), { tool })) === 0) return 'idle';
      return (await readNextScope(deps, signal, tool)) ? 'more' : 'idle';
    },
  });
}
