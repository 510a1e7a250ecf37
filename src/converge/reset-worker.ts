import type { Adapter } from '../adapters/adapter.ts';
import { isTransient, toAppError } from '../domain/errors.ts';
import { backoffMs } from '../lib/backoff.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop, type Polling } from '../lib/loop.ts';
import { maskText } from '../lib/mask.ts';
import { callTool } from '../tools/call-tool.ts';
import { leaseMs } from './converge-steps.ts';
import type { ResetClaim, ResetStore } from './reset-store.ts';

export interface ResetDeps extends Polling {
  tool: string;
  adapter: Adapter;
  resets: ResetStore;
  /** The longest a call may take. */
  timeoutMs: number;
  /** Called when there is somebody to be invited anew. */
  onMembershipDue(): void;
  logger: Logger;
  clock: Clock;
}

/** What is refused is not taken later either, until somebody changes something. */
const refusedRetryMs = 3_600_000;

/** Makes the link of a tool worthless after people were taken out, for all of them together. */
export function createResetWorker(deps: ResetDeps): Loop {
  const { tool, logger, clock } = deps;
  const run = createResetting(deps);
  return createLoop({ name: `reset ${tool}`, pollMs: deps.pollMs, logger, clock, run });
}

/** Resets what is due: first all of it, and then whoever waits is invited anew, once. */
export function createResetting(deps: ResetDeps): (signal: AbortSignal) => Promise<'idle'> {
  const { tool, resets, clock, logger, onMembershipDue } = deps;
  return async (signal) => {
    const now = toInstant(clock.now());
    const claims = await resets.claim(tool, now, instantIn(clock, leaseMs));
    const done: ResetClaim[] = [];
    const endsAt = instantIn(clock, leaseMs / 2);
    for (const claim of claims) {
      // What there is no time for is taken again when the lease has run out.
      if (toInstant(clock.now()) >= endsAt) break;
      if (await reset(deps, claim, signal)) done.push(claim);
    }
    if (done.length === 0) return 'idle';
    await resets.settleDone(done, toInstant(clock.now()));
    logger.info({ tool, groups: done.map(({ groupId }) => groupId) }, 'A sign-up link was reset');
    onMembershipDue();
    return 'idle';
  };
}

/** @returns whether the link is worthless now; where nobody knows, it is done again */
async function reset(
  { adapter, resets, timeoutMs, clock, logger }: ResetDeps,
  claim: ResetClaim,
  signal: AbortSignal,
): Promise<boolean> {
  const { tool, groupId, attempts } = claim;
  try {
    await callTool(Math.min(timeoutMs, leaseMs / 2), signal, async (callSignal) =>
      adapter.resetInvitations?.(groupId, callSignal),
    );
    return true;
  } catch (thrown) {
    // The lease runs out, and it is taken again.
    if (signal.aborted) return false;
    const error = toAppError(thrown);
    const waitMs = isTransient(error) ? backoffMs(attempts, error.retryAfterMs) : refusedRetryMs;
    const nextAttemptAt = instantIn(clock, waitMs);
    await resets.settleFailed(claim, nextAttemptAt);
    const message = maskText(error.message).slice(0, 300);
    logger.warn(
      { tool, group: groupId, errorCode: error.code, message, nextAttemptAt },
      'The sign-up link of a tool could not be reset: whoever was removed may still use it',
    );
    return false;
  }
}
