import { toInstant } from '../../lib/clock.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import { listPlaces, type ReadPlaceDeps, readingMs, readNextPlace } from './read-place.ts';

/** So often it is looked whether somebody may work at a place that was never read. */
const discoverEveryMs = 60_000;

/** Reads the work at every place of a tool where that was asked for, and at new ones at once. */
export function createReadUsageWorker(deps: ReadPlaceDeps, tool: string): Loop {
  const { places, logger, clock } = deps;
  let discoveredAt = Number.NEGATIVE_INFINITY;
  return createLoop({
    name: `read-usage ${tool}`,
    pollMs: deps.pollMs,
    logger,
    clock,
    // One reading and what is merged of it.
    stallMs: 2 * readingMs,
    async run(signal) {
      const now = clock.now();
      const isDiscoveryDue = now.getTime() - discoveredAt >= discoverEveryMs;
      if (isDiscoveryDue || (await places.isPlaceMissing(tool, toInstant(now)))) {
        const all = [...(await listPlaces(deps)).values()];
        await places.keep(
          all.filter((place) => place.tool === tool),
          toInstant(now),
        );
        discoveredAt = now.getTime();
      }
      if ((await places.countDue(toInstant(now), { tool })) === 0) return 'idle';
      return (await readNextPlace(deps, signal, tool)) ? 'more' : 'idle';
    },
  });
}
