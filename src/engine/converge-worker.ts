import { randomUUID } from 'node:crypto';
import type { Adapter } from '../adapters/adapter.ts';
import type { LockStore } from '../db/lock-store.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { Claim, ClaimStore } from './claim-store.ts';
import { convergeMembership, leaseMs } from './converge-membership.ts';

export interface ConvergeWorkerDeps {
  tool: string;
  adapter: Adapter;
  /** How many memberships of the tool are worked on at once. */
  concurrency: number;
  timeoutMs: number;
  claims: ClaimStore;
  locks: LockStore;
  metrics: Metrics;
  logger: Logger;
  clock: Clock;
}

const pollMs = 1000;

/**
 * Brings one tool in line with what is wanted in it. Works on several memberships at once and takes
 * the next as soon as one is done, so that a slow call holds up nothing but itself.
 */
export function createConvergeWorker(deps: ConvergeWorkerDeps): Loop {
  const { tool, adapter, claims, logger, clock } = deps;
  const token = randomUUID();
  const isExclusive = adapter.capabilities.exclusive !== 'membership';
  const slots = isExclusive ? 1 : deps.concurrency;
  const underway = new Set<Promise<void>>();

  const loop = createLoop({
    name: `converge ${tool}`,
    intervalMs: pollMs,
    logger,
    clock,
    async run(signal) {
      const now = toInstant(clock.now());
      const isBusy = underway.size > 0;
      if (!isBusy && !(await claims.hasDue(tool, now))) return 'idle';
      // Held again at every turn, so that it is never lost to others while this one lives.
      if (isExclusive && !(await holdTool(deps, token))) return 'idle';
      const limit = slots - underway.size;
      const leasedUntil = instantIn(clock, leaseMs);
      const order = { tool, token: randomUUID(), now, leasedUntil, limit };
      const claimed = limit > 0 ? await claims.claim(order) : [];
      for (const claim of claimed) start(claim, signal);
      return 'idle';
    },
  });

  function start(claim: Claim, signal: AbortSignal): void {
    const work = converge(deps, claim, signal).finally(() => {
      underway.delete(work);
      loop.wake();
    });
    underway.add(work);
  }

  async function release(): Promise<void> {
    if (isExclusive) await deps.locks.release(lockName(tool), token);
  }

  return {
    ...loop,
    async stop() {
      await loop.stop();
      await Promise.all(underway);
      await release();
    },
  };
}

function lockName(tool: string): string {
  return `tool:${tool}`;
}

/** Where two calls at once could undo each other (a file), one instance at a time has the tool. */
async function holdTool({ tool, locks, clock }: ConvergeWorkerDeps, token: string) {
  return await locks.hold(lockName(tool), token, toInstant(clock.now()), instantIn(clock, leaseMs));
}

async function converge(
  deps: ConvergeWorkerDeps,
  claim: Claim,
  signal: AbortSignal,
): Promise<void> {
  const { tool, metrics, logger } = deps;
  // A look and a call fit into the lease, whatever was configured.
  const timeoutMs = Math.min(deps.timeoutMs, leaseMs / 2);
  const subject = { tool, membership: claim.id, group: claim.groupId, trainer: claim.trainerId };
  try {
    const result = await convergeMembership({ ...deps, timeoutMs }, claim, signal);
    if (result === null) return;
    const { operation, outcome, message, nextAttemptAt } = result;
    metrics.toolCalls.inc({ tool, operation, outcome });
    const hasFailed = outcome === 'failed' || outcome === 'refused';
    if (hasFailed)
      logger.warn(
        { ...subject, operation, outcome, message, nextAttemptAt },
        'A membership could not be brought in line',
      );
    else logger.info({ ...subject, operation, outcome }, 'A membership is in line');
  } catch (error) {
    // The lease runs out, and the membership is taken again.
    logger.error({ ...subject, err: error }, 'The outcome of a membership could not be stored');
  }
}
