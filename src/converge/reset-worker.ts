import type { Adapter } from '../adapters/adapter.ts';
import { isTransient, toAppError } from '../domain/errors.ts';
import type { Storage } from '../keys/storage.ts';
import { backoffMs } from '../lib/backoff.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop, type Polling } from '../lib/loop.ts';
import { maskText } from '../lib/mask.ts';
import { callTool } from '../tools/call-tool.ts';
import { convergeLeaseMs } from './claim-store.ts';
import { claimResets, postponeReset, type ResetClaim, settleResets } from './reset-store.ts';

export interface ResetDeps extends Storage, Polling {
  tool: string;
  adapter: Adapter;
  /** The longest that a call may take. */
  timeoutMs: number;
  /** Called when invitations must be renewed. */
  onMembershipDue(): void;
  logger: Logger;
  clock: Clock;
}

/** A refused reset is refused again until something is changed. */
const refusedRetryMs = 3_600_000;

/** Resets the shared link of a tool after removals, once for all of them. */
export function createResetWorker(deps: ResetDeps): Loop {
  const { tool, logger, clock } = deps;
  const run = createResetting(deps);
  return createLoop({ name: `reset ${tool}`, pollMs: deps.pollMs, logger, clock, run });
}

/** Resets all links that are due, then has the invitations renewed once. */
export function createResetting(deps: ResetDeps): (signal: AbortSignal) => Promise<'idle'> {
  const { tool, clock, logger, onMembershipDue } = deps;
  return async (signal) => {
    const now = toInstant(clock.now());
    const claims = await claimResets(deps, tool, now, instantIn(clock, convergeLeaseMs));
    const done: ResetClaim[] = [];
    const endsAt = instantIn(clock, convergeLeaseMs / 2);
    for (const claim of claims) {
      // What does not fit into the time is claimed again after the lease.
      if (toInstant(clock.now()) >= endsAt) break;
      if (await reset(deps, claim, signal)) done.push(claim);
    }
    if (done.length === 0) return 'idle';
    await settleResets(deps, done, toInstant(clock.now()));
    logger.info({ tool, groups: done.map(({ groupId }) => groupId) }, 'A sign-up link was reset');
    onMembershipDue();
    return 'idle';
  };
}

/** @returns whether the link is worthless now; if that is unknown, the reset is repeated */
async function reset(ctx: ResetDeps, claim: ResetClaim, signal: AbortSignal): Promise<boolean> {
  const { tool, groupId, attempts } = claim;
  try {
    await callTool(Math.min(ctx.timeoutMs, convergeLeaseMs / 2), signal, async (callSignal) =>
      ctx.adapter.resetInvitations?.(groupId, callSignal),
    );
    return true;
  } catch (thrown) {
    // The lease expires, and the reset is claimed again.
    if (signal.aborted) return false;
    const error = toAppError(thrown);
    const waitMs = isTransient(error) ? backoffMs(attempts, error.retryAfterMs) : refusedRetryMs;
    const nextAttemptAt = instantIn(ctx.clock, waitMs);
    await postponeReset(ctx, claim, nextAttemptAt);
    const message = maskText(error.message).slice(0, 300);
    ctx.logger.warn(
      { tool, group: groupId, errorCode: error.code, message, nextAttemptAt },
      'The sign-up link of a tool could not be reset: removed members may still use it',
    );
    return false;
  }
}
