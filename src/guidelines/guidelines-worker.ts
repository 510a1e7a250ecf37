import { isTransient, toAppError } from '../domain/errors.ts';
import { backoffMs } from '../lib/backoff.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import { createLanes } from '../lib/lanes.ts';
import type { Loop, Polling } from '../lib/loop.ts';
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
import { type SyncedInstall, type SyncInstallDeps, syncInstall, worryingLooks } from './sync-install.ts';

/**
 * Reads what is published for the jobs of the installs that want it (`installs.<name>.guidelines`), and brings it into
 * their tools. It writes nothing over what people have written there, and removes nothing.
 */

export interface GuidelinesDeps extends SyncInstallDeps, Polling {
  /** The installs whose guidelines follow by themselves. */
  wanting(): string[];
  everyMs: number;
}

/** How many installs are read at the same time. */
const installsAtOnce = 4;
/** No project is begun after this time. */
const passMs = 5 * 60_000;
/** The rest is read at the next pass. A dead worker delays it by at most this long. */
const leaseMs = 10 * 60_000;

export function createGuidelinesWorker(deps: GuidelinesDeps): Loop {
  const { clock } = deps;
  const turns = createTurns();
  return createLanes({
    name: 'guidelines',
    pollMs: deps.pollMs,
    logger: deps.logger,
    clock,
    stallMs: leaseMs,
    atOnce: installsAtOnce,
    async next(underway, signal) {
      const free = deps.wanting().filter((install) => !underway.has(install));
      const notDue = await installsNotDueForManuals(deps, free, toInstant(clock.now()));
      for (const install of turns.inOrder(free.filter((one) => !notDue.has(one)))) {
        const claimed = await claimManualReading(deps, install, toInstant(clock.now()), instantIn(clock, leaseMs));
        if (claimed === undefined) continue;
        turns.served(install);
        return { name: install, work: (beat) => syncClaimed(deps, claimed, signal, beat) };
      }
      return null;
    },
  });
}

const by = { actor: 'gangway', origin: 'schedule' };

async function syncClaimed(
  deps: GuidelinesDeps,
  claimed: ClaimedReading,
  signal: AbortSignal,
  beat: () => void,
): Promise<void> {
  const { clock, everyMs, logger, alerts } = deps;
  const { install, failures } = claimed;
  const readAt = toInstant(clock.now());
  const endsAt = clock.now().getTime() + passMs;
  const hasTime = () => {
    beat();
    return clock.now().getTime() < endsAt;
  };
  try {
    const synced = await syncInstall(deps, { install, overwrites: false, by }, signal, hasTime);
    await settleManualReading(deps, claimed, { readAt, nextReadAt: instantIn(clock, waitAfter(synced, everyMs)) });
  } catch (thrown) {
    if (signal.aborted) return await releaseManualReading(deps, claimed);
    const error = toAppError(thrown);
    const reason = maskText(error.message);
    logger.warn({ err: error, install }, 'The manuals of an install could not be read');
    const nextReadAt = instantIn(clock, Math.max(everyMs, backoffMs(failures + 1, error.retryAfterMs)));
    await postponeManualReading(deps, claimed, reason, nextReadAt);
    if (isTransient(error) && failures + 1 < worryingLooks) return;
    alerts.raise('guideline_unwritten', { install, reason }, `The manuals of an install cannot be read: ${reason}`);
  }
}

/** A tool that asked to be left alone is. */
function waitAfter({ projects }: SyncedInstall, everyMs: number): number {
  return Math.max(everyMs, ...projects.map(({ retryAfterMs = 0 }) => retryAfterMs));
}
