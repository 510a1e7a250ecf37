import type { Context } from '../../context.ts';
import { createInstallLanes } from '../../db/install-lanes.ts';
import type { Hold } from '../../db/lock.ts';
import { type AppError, isTransient, toAppError } from '../../domain/errors.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import type { Loop } from '../../lib/loop.ts';
import { applySteps } from './apply-steps.ts';
import { decideSubscription } from './decide-subscription.ts';
import { subscriptionLeaseMs } from './ensure-endpoint.ts';
import { lookAtSubscription } from './look-at-subscription.ts';
import {
  findSubscription,
  installsWithChecksDue,
  noteSubscriptionCheck,
  noteUnmatchedSignature,
  wantSubscriptionCheck,
} from './subscription-store.ts';
import { type Trouble, troubleOfError } from './troubles.ts';

export interface SubscriptionWorker extends Loop {
  /** Call it when no secret of an install made the signature of a request. It only writes to memory. */
  noteUnmatched(install: string): void;
}

/** The next check after a failure of the database. */
const againMs = 10_000;
/** Long enough for several requests to a slow marketplace, each with its retries. */
const stallMs = 10 * 60_000;
/** How many are checked at the same time. */
const checksAtOnce = 4;

/** Checks the subscription of each install: at the start, when the install is new, and regularly. */
export function createSubscriptionWorker(ctx: Context): SubscriptionWorker {
  const { installs, config, clock } = ctx;
  let seen: ReadonlySet<string> = new Set();
  const unmatched = new Map<string, string>();

  /** Requests a check of each install that this process has not seen yet; at the start that is all. */
  async function checkNew(): Promise<void> {
    const present = new Set(installs.keys());
    const isNew = [...present].filter((install) => !seen.has(install));
    if (isNew.length > 0) await wantSubscriptionCheck(ctx, isNew, toInstant(clock.now()));
    seen = present;
  }

  /** Runs before the checks, because they may depend on it. */
  async function writeUnmatched(): Promise<void> {
    for (const [install, at] of unmatched) {
      if (installs.has(install)) await noteUnmatchedSignature(ctx, install, at);
      unmatched.delete(install);
    }
  }

  const loop = createInstallLanes(ctx, {
    name: 'subscription',
    stallMs,
    leaseMs: subscriptionLeaseMs,
    atOnce: checksAtOnce,
    async due() {
      await writeUnmatched();
      await checkNew();
      return await installsWithChecksDue(ctx, [...installs.keys()], toInstant(clock.now()));
    },
    async work(install, signal, hold) {
      if ((await installsWithChecksDue(ctx, [install], toInstant(clock.now()))).length === 0) return;
      let restMs = againMs;
      try {
        await checkSubscription(ctx, install, hold, signal);
        restMs = config.subscription.everyMs;
      } finally {
        if (!signal.aborted) await wantSubscriptionCheck(ctx, [install], instantIn(clock, restMs));
      }
    },
  });
  return {
    ...loop,
    noteUnmatched: (install) => void unmatched.set(install, toInstant(clock.now())),
  };
}

/**
 * Checks whether an install's deliveries can come, repairs what it may, and stores the trouble that
 * is left. A trouble that stays raises no second alert.
 */
export async function checkSubscription(ctx: Context, install: string, hold: Hold, signal: AbortSignal): Promise<void> {
  const { clock } = ctx;
  const { trouble: before } = await findSubscription(ctx, install);
  try {
    const look = await lookAtSubscription(ctx, install, signal);
    const { steps, trouble } = decideSubscription(install, look.view);
    await applySteps({ ...look, hold, signal }, steps);
    await noteSubscriptionCheck(ctx, install, toInstant(clock.now()), trouble);
    if (trouble !== null && trouble.says !== before?.says) ctx.logger.warn({ install, ...trouble }, troubled);
    if (trouble === null && before !== null) {
      ctx.logger.info({ install }, 'The webhook endpoint is in order again');
    }
  } catch (thrown) {
    const error = toAppError(thrown);
    if (error.code === 'internal') throw error;
    if (!signal.aborted) await report(ctx, install, error, before);
  }
}

const troubled = 'Webhooks of an install may not arrive';

/** A transient error raises no alert, and does not replace a known trouble. */
async function report(ctx: Context, install: string, error: AppError, before: Trouble | null): Promise<void> {
  const trouble = troubleOfError(ctx, install, error);
  if (trouble.says === before?.says) return;
  if (!isTransient(error)) ctx.logger.warn({ install, ...trouble }, troubled);
  else {
    if (before !== null) return;
    ctx.logger.warn({ err: error, install }, 'A webhook endpoint could not be looked after');
  }
  await noteSubscriptionCheck(ctx, install, null, trouble);
}
