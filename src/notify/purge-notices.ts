import type { Context } from '../context.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import { purgeAlerts } from './alert-store.ts';
import { endUnconfiguredDispatches, purgeDispatches } from './dispatch-store.ts';

const keptMs = 30 * 86_400_000;
/** By then, an instance that knows the channel would have sent it, even while a new version is rolled out. */
const uncaredMs = 10 * 60_000;

/**
 * Ends notices whose channel is gone, and deletes notices and alerts that were over long ago.
 *
 * @param chunkSize how many it deletes
 * @returns whether there may be more
 */
export async function purgeNotices(ctx: Context, chunkSize: number): Promise<boolean> {
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
  return purged > 0;
}
