import type { Context } from '../context.ts';
import { createInstallLanes, type LaneHold } from '../db/install-lanes.ts';
import { toAppError } from '../domain/errors.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import type { Loop } from '../lib/loop.ts';
import { maskText } from '../lib/mask.ts';
import { backoffMs } from '../lib/retry.ts';
import { findManualReading, keepManualReading, listManualReadings } from './guideline-reading-store.ts';
import { syncInstall } from './sync-install.ts';

/**
 * Reads what is published for the jobs of the installs that want it (`installs.<name>.guidelines`), and brings it into
 * their tools. It writes nothing over what people have written there, and removes nothing.
 */

/** How many installs are read at the same time. */
const installsAtOnce = 4;
/** No project is begun after this time. */
const passMs = 5 * 60_000;
/** The rest is read at the next pass. A dead worker delays it by at most this long. */
const leaseMs = 10 * 60_000;

export function createGuidelinesWorker(ctx: Context): Loop {
  const { installs, clock } = ctx;
  return createInstallLanes(ctx, {
    name: 'guidelines',
    stallMs: leaseMs,
    leaseMs,
    atOnce: installsAtOnce,
    async due() {
      const wanting = [...installs].flatMap(([install, { guidelines }]) => (guidelines ? [install] : []));
      if (wanting.length === 0) return [];
      const now = toInstant(clock.now());
      const readings = (await listManualReadings(ctx)).filter(({ nextReadAt }) => nextReadAt > now);
      return wanting.filter((install) => !readings.some((one) => one.install === install));
    },
    work: (install, signal, hold) => readManuals(ctx, install, signal, hold),
  });
}

const by = { actor: 'gangway', origin: 'schedule' };

async function readManuals(ctx: Context, install: string, signal: AbortSignal, { beat }: LaneHold): Promise<void> {
  const { clock, logger } = ctx;
  const { everyMs } = ctx.config.guidelines;
  const now = toInstant(clock.now());
  const last = await findManualReading(ctx, install);
  if (last !== undefined && last.nextReadAt > now) return;
  const endsAt = clock.now().getTime() + passMs;
  const hasTime = () => {
    beat();
    return clock.now().getTime() < endsAt;
  };
  try {
    const { projects } = await syncInstall(ctx, { install, overwrites: false, by }, signal, hasTime);
    // A tool that asked to be left alone is.
    const waitMs = Math.max(everyMs, ...projects.map(({ retryAfterMs = 0 }) => retryAfterMs));
    const nextReadAt = instantIn(clock, waitMs);
    await keepManualReading(ctx, { install, nextReadAt, readAt: now, failures: 0, failure: null });
  } catch (thrown) {
    if (signal.aborted) return;
    const error = toAppError(thrown);
    const failure = maskText(error.message);
    const failures = (last?.failures ?? 0) + 1;
    logger.warn({ err: error, install }, 'The manuals of an install could not be read');
    const nextReadAt = instantIn(clock, Math.max(everyMs, backoffMs(failures, error.retryAfterMs)));
    await keepManualReading(ctx, { install, nextReadAt, readAt: last?.readAt ?? null, failures, failure });
  }
}
