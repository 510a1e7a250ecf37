import { instantIn, toInstant } from '../../lib/clock.ts';
import { createLoop, type Loop, type Polling } from '../../lib/loop.ts';
import { checkSubscription } from './check-subscription.ts';
import { leaseMs } from './hold-subscription.ts';
import type { SubscriptionDeps } from './look-at-subscription.ts';

export interface SubscriptionWorker extends Loop {
  /** A request for an install was signed with none of its secrets. Costs nothing but memory. */
  noteUnmatched(install: string): void;
}

interface SubscriptionWorkerDeps extends SubscriptionDeps, Polling {
  /** By name; live. */
  installs: ReadonlyMap<string, unknown>;
  everyMs: number;
}

/** While a command has it, and after a failure of ours. */
const busyMs = 10_000;
/** Several requests to a slow marketplace, each with its tries. */
const stallMs = 10 * 60_000;

/** Checks the subscription of each install: at the start, when it is new, and ever again. */
export function createSubscriptionWorker(deps: SubscriptionWorkerDeps): SubscriptionWorker {
  const { subscriptions, installs, everyMs, logger, clock } = deps;
  let welcome: ReadonlySet<string> = new Set();
  const unmatched = new Map<string, string>();

  /** What this process has not seen yet: after its start that is all. */
  async function welcomeNew(): Promise<void> {
    const present = new Set(installs.keys());
    const isNew = [...present].filter((install) => !welcome.has(install));
    if (isNew.length > 0) await subscriptions.wantCheck(isNew, toInstant(clock.now()));
    welcome = present;
  }

  /** Before anything is checked, as it may depend on that. */
  async function writeUnmatched(): Promise<void> {
    for (const [install, at] of unmatched) {
      if (installs.has(install)) await subscriptions.unmatched(install, at);
      unmatched.delete(install);
    }
  }

  async function check(install: string, signal: AbortSignal): Promise<void> {
    let restMs = busyMs;
    try {
      if (await checkSubscription(deps, install, signal)) restMs = everyMs;
    } finally {
      await subscriptions.release(install, instantIn(clock, signal.aborted ? 0 : restMs));
    }
  }

  const loop = createLoop({
    name: 'subscription',
    pollMs: deps.pollMs,
    logger,
    clock,
    stallMs,
    async run(signal) {
      await writeUnmatched();
      await welcomeNew();
      const now = toInstant(clock.now());
      const claimed = await subscriptions.claim([...installs.keys()], now, instantIn(clock, leaseMs));
      const checks = await Promise.allSettled(claimed.map((install) => check(install, signal)));
      const failed = checks.find(({ status }) => status === 'rejected');
      if (failed?.status === 'rejected') throw failed.reason;
      return claimed.length > 0 ? 'more' : 'idle';
    },
  });
  return {
    ...loop,
    noteUnmatched: (install) => void unmatched.set(install, toInstant(clock.now())),
  };
}
