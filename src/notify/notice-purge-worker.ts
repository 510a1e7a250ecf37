import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { purgeAlerts } from './alert-store.ts';
import { endUnconfiguredDispatches, purgeDispatches } from './dispatch-store.ts';

const intervalMs = 10 * 60_000;
const keptMs = 30 * 86_400_000;
/** By then, an instance that knows the channel would have sent it, even while a new version is rolled out. */
const uncaredMs = 10 * 60_000;
/** Small chunks with pauses, so that no other writer waits long. */
const chunkSize = 100;
const restMs = 20;

/** Ends notices whose channel is gone, and deletes notices and alerts that were over long ago. */
export function createNoticePurgeWorker(ctx: Context): Loop {
  const { logger, clock } = ctx;
  return createLoop({
    name: 'purge-notices',
    intervalMs,
    logger,
    clock,
    async run(signal) {
      if ((await purgeNotices(ctx)) === 'idle') return 'idle';
      await wait(restMs, undefined, { signal });
      return 'more';
    },
  });
}

export async function purgeNotices(ctx: Context): Promise<'more' | 'idle'> {
  const { metrics, logger, clock } = ctx;
  const channels = [...ctx.config.notifications.channels.keys()];
  const now = toInstant(clock.now());
  const uncaredSince = instantIn(clock, -uncaredMs);
  for (const { channel, count } of await endUnconfiguredDispatches(ctx, channels, uncaredSince, now)) {
    metrics.notifications.inc({ channel, outcome: 'unconfigured' }, count);
    logger.warn({ channel, notices: count }, 'Notices were given up: no instance has their channel');
  }
  const before = instantIn(clock, -keptMs);
  const purged = (await purgeDispatches(ctx, before, chunkSize)) + (await purgeAlerts(ctx, before, chunkSize));
  return purged === 0 ? 'idle' : 'more';
}
