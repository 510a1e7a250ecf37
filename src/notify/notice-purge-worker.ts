import { setTimeout as wait } from 'node:timers/promises';
import type { Storage } from '../keys/storage.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
import { purgeAlerts } from './alert-store.ts';
import { endUnconfiguredDispatches, purgeDispatches } from './dispatch-store.ts';

export interface NoticePurgeDeps extends Storage {
  /** The channels that are configured. */
  channels: readonly string[];
  metrics: Metrics;
  logger: Logger;
  clock: Clock;
}

const intervalMs = 10 * 60_000;
const keptMs = 30 * 86_400_000;
/** By then, an instance that knows the channel would have sent it, even while a new version is rolled out. */
const uncaredMs = 10 * 60_000;
/** Small chunks with pauses, so that no other writer waits long. */
const chunkSize = 100;
const restMs = 20;

/** Ends notices whose channel is gone, and deletes notices and alerts that were over long ago. */
export function createNoticePurgeWorker(deps: NoticePurgeDeps): Loop {
  const { logger, clock } = deps;
  return createLoop({
    name: 'purge-notices',
    intervalMs,
    logger,
    clock,
    async run(signal) {
      if ((await purgeNotices(deps)) === 'idle') return 'idle';
      await wait(restMs, undefined, { signal });
      return 'more';
    },
  });
}

export async function purgeNotices(deps: NoticePurgeDeps): Promise<'more' | 'idle'> {
  const { channels, metrics, logger, clock } = deps;
  const now = toInstant(clock.now());
  const uncaredSince = instantIn(clock, -uncaredMs);
  for (const { channel, count } of await endUnconfiguredDispatches(deps, channels, uncaredSince, now)) {
    metrics.notifications.inc({ channel, outcome: 'unconfigured' }, count);
    logger.warn({ channel, notices: count }, 'Notices were given up: no instance has their channel');
  }
  const before = instantIn(clock, -keptMs);
  const purged = (await purgeDispatches(deps, before, chunkSize)) + (await purgeAlerts(deps, before, chunkSize));
  return purged === 0 ? 'idle' : 'more';
}
