import type { Context } from '../context.ts';
import { isTransient, toAppError } from '../domain/errors.ts';
import { backoffMs } from '../lib/backoff.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import { createLanes } from '../lib/lanes.ts';
import type { Loop } from '../lib/loop.ts';
import { maskText } from '../lib/mask.ts';
import { createTurns } from '../lib/turns.ts';
import {
  type ClaimedReading,
  claimManualReading,
  installsNotDueForManuals,
  postponeManualReading,
  releaseManualReading,
  settleManualReading,
} from './guideline-reading-store.ts';
import { type SyncedInstall, syncInstall, worryingLooks } from './sync-install.ts';

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
  const turns = createTurns();
  return createLanes({
    name: 'guidelines',
    pollMs: ctx.pollMs,
    logger: ctx.logger,
    clock,
    stallMs: leaseMs,
    atOnce: installsAtOnce,
    async next(underway, signal) {
      const wanting = [...installs].flatMap(([install, { guidelines }]) => (guidelines ? [install] : []));
      const free = wanting.filter((install) => !underway.has(install));
      const notDue = await installsNotDueForManuals(ctx, free, toInstant(clock.now()));
      for (const install of turns.inOrder(free.filter((one) => !notDue.has(one)))) {
        const claimed = await claimManualReading(ctx, install, toInstant(clock.now()), instantIn(clock, leaseMs));
        if (claimed === undefined) continue;
        turns.served(install);
        return { name: install, work: (beat) => syncClaimed(ctx, claimed, signal, beat) };
      }
      return null;
    },
  });
}

const by = { actor: 'gangway', origin: 'schedule' };

async function syncClaimed(
  ctx: Context,
  claimed: ClaimedReading,
  signal: AbortSignal,
  beat: () => void,
): Promise<void> {
  const { clock, logger, alerts } = ctx;
  const { everyMs } = ctx.config.guidelines;
  const { install, failures } = claimed;
  const readAt = toInstant(clock.now());
  const endsAt = clock.now().getTime() + passMs;
  const hasTime = () => {
    beat();
    return clock.now().getTime() < endsAt;
  };
  try {
    const synced = await syncInstall(ctx, { install, overwrites: false, by }, signal, hasTime);
    await settleManualReading(ctx, claimed, { readAt, nextReadAt: instantIn(clock, waitAfter(synced, everyMs)) });
  } catch (thrown) {
    if (signal.aborted) return await releaseManualReading(ctx, claimed);
    const error = toAppError(thrown);
    const reason = maskText(error.message);
    logger.warn({ err: error, install }, 'The manuals of an install could not be read');
    const nextReadAt = instantIn(clock, Math.max(everyMs, backoffMs(failures + 1, error.retryAfterMs)));
    await postponeManualReading(ctx, claimed, reason, nextReadAt);
    if (isTransient(error) && failures + 1 < worryingLooks) return;
    alerts.raise(
      'guideline_unwritten',
      { install, reason },
      `Gangway cannot read the manuals of an install: ${reason}`,
    );
  }
}

/** A tool that asked to be left alone is. */
function waitAfter({ projects }: SyncedInstall, everyMs: number): number {
  return Math.max(everyMs, ...projects.map(({ retryAfterMs = 0 }) => retryAfterMs));
}
