import { toInstant } from '../../lib/clock.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import { listWorkScopes, type ReadScopeDeps, readingMs, readNextScope } from './read-scope.ts';
import { countDueScopes, isScopeMissing, keepScopes } from './scope-store.ts';

/** How often the worker looks for scopes that were never read. */
const discoverEveryMs = 60_000;

/** Reads every scope of a tool that is due, and new scopes at once. */
export function createReadUsageWorker(deps: ReadScopeDeps, tool: string): Loop {
  const { logger, clock } = deps;
  let discoveredAt = Number.NEGATIVE_INFINITY;
  return createLoop({
    name: `read-usage ${tool}`,
    pollMs: deps.pollMs,
    logger,
    clock,
    // One reading, and the merging after it.
    stallMs: 2 * readingMs,
    async run(signal) {
      const now = clock.now();
      const isDiscoveryDue = now.getTime() - discoveredAt >= discoverEveryMs;
      if (isDiscoveryDue || (await isScopeMissing(deps, tool, toInstant(now)))) {
        const all = [...(await listWorkScopes(deps)).values()];
        await keepScopes(
          deps,
          all.filter((workScope) => workScope.tool === tool),
          toInstant(now),
        );
        discoveredAt = now.getTime();
      }
      if ((await countDueScopes(deps, toInstant(now), { tool })) === 0) return 'idle';
      return (await readNextScope(deps, signal, tool)) ? 'more' : 'idle';
    },
  });
}
