import type { Context } from '../context.ts';
import { isTransient, toAppError } from '../domain/errors.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { maskText } from '../lib/mask.ts';
import { backoffMs } from '../lib/retry.ts';
import { convergeLeaseMs } from './claim-store.ts';
import { askTool, refusedRetryMs } from './converge-steps.ts';
import { claimResets, postponeReset, type ResetClaim, settleResets } from './reset-store.ts';

/** Resets the shared link of a tool after removals, once for all of them. */
export function createResetWorker(ctx: Context, tool: string): Loop {
  const { pollMs, logger, clock } = ctx;
  return createLoop({
    name: `reset ${tool}`,
    pollMs,
    logger,
    clock,
    async run(signal) {
      await resetInvitations(ctx, tool, signal);
      return 'idle';
    },
  });
}

/** Resets all links that are due, then requests new invitations once. */
export async function resetInvitations(ctx: Context, tool: string, signal: AbortSignal): Promise<void> {
  const { clock, logger } = ctx;
  const claims = await claimResets(ctx, tool, toInstant(clock.now()), instantIn(clock, convergeLeaseMs));
  const done: ResetClaim[] = [];
  const endsAt = instantIn(clock, convergeLeaseMs / 2);
  for (const claim of claims) {
    // The rest is claimed again after the lease.
    if (toInstant(clock.now()) >= endsAt) break;
    if (await reset(ctx, claim, signal)) done.push(claim);
  }
  if (done.length === 0) return;
  await settleResets(ctx, done, toInstant(clock.now()));
  logger.info({ tool, groups: done.map(({ groupId }) => groupId) }, 'A sign-up link was reset');
  ctx.wake('memberships');
}

/** @returns whether the link was reset; if that is unknown, the reset is repeated */
async function reset(ctx: Context, claim: ResetClaim, signal: AbortSignal): Promise<boolean> {
  const { tool, groupId, attempts } = claim;
  try {
    await askTool(ctx, { tool, signal }, async (adapter, ending) => adapter.resetInvitations?.(groupId, ending));
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
      'The sign-up link of a tool could not be reset, so removed members may still use it',
    );
    return false;
  }
}
