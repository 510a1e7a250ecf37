import { randomUUID } from 'node:crypto';
import type { Context } from '../context.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { createOutbox } from '../lib/outbox.ts';
import { backoffMs } from '../lib/retry.ts';
import type { Channel, Message, MessageResult } from './channel.ts';
import { claimDispatch, type DispatchClaim, type Settlement, settleDispatch } from './dispatch-store.ts';

/** Sends the notices of one channel, message after message; any instance may. */
export function createNotifyWorker(ctx: Context, channel: Channel): Loop {
  const { pollMs, logger, clock } = ctx;
  return createLoop({ name: `notify ${channel.name}`, pollMs, logger, clock, run: createNotifying(ctx, channel) });
}

/** Sends what is due, one message per call. */
export function createNotifying(ctx: Context, channel: Channel): (signal: AbortSignal) => Promise<'more' | 'idle'> {
  const { clock } = ctx;
  const { name, maxNotices, longestSendMs, send } = channel;
  return createOutbox<DispatchClaim, MessageResult>({
    claim: (lease) =>
      claimDispatch(ctx, {
        ...lease,
        channel: name,
        maxNotices,
        token: randomUUID(),
        newMessageId: `msg_${randomUUID()}`,
      }),
    send,
    settle: (claim, sent) => settle(ctx, name, claim, sent),
    isDown: ({ outcome }) => outcome === 'deferred' || outcome === 'refused',
    longestSendMs,
    clock,
  });
}

async function settle(ctx: Context, channel: string, claim: DispatchClaim, sent: MessageResult): Promise<void> {
  const { metrics, clock } = ctx;
  metrics.notifications.inc({ channel, outcome: sent.outcome });
  const settlement = settleMessage(claim, sent, clock.now());
  const isOurs = await settleDispatch(ctx, claim, settlement);
  logOutcome(ctx, channel, claim, sent, isOurs ? settlement : null);
}

/** @param settlement null where another instance has taken the message over */
function logOutcome(
  { alerts, logger }: Context,
  channel: string,
  claim: DispatchClaim,
  sent: MessageResult,
  settlement: Settlement | null,
): void {
  const { id, attempts, notices } = claim;
  const subject = { channel, message: id, notices: notices.length, attempts };
  if (sent.outcome === 'sent') {
    if (sent.failure === undefined) logger.info(subject, 'A notice was sent');
    else logger.warn({ ...subject, failure: sent.failure }, 'A notice was sent, in part');
    return;
  }
  const fields = { ...subject, outcome: sent.outcome, failure: sent.failure };
  if (settlement?.state === 'failed') {
    alerts.raise('notification_failed', fields);
    return;
  }
  const { nextAttemptAt } = settlement ?? {};
  logger.warn({ ...fields, nextAttemptAt }, 'A notice could not be sent yet');
}

const triedForMs = 3 * 86_400_000;
/** A refusal is not corrected within seconds. */
const refusedWaitMs = 3_600_000;

/**
 * Pure: the state of a message after a try. It is tried for three days, the last time at their end, unless it arrived
 * or the receiver does not want it any more.
 */
export function settleMessage(
  { createdAt, attempts }: Pick<Message, 'createdAt'> & { attempts: number },
  sent: MessageResult,
  now: Date,
  random?: () => number,
): Settlement {
  const at = now.toISOString();
  if (sent.outcome === 'sent') {
    return { state: 'sent', now: at, nextAttemptAt: null, failure: sent.failure ?? null };
  }
  const { outcome, failure, retryAfterMs = 0 } = sent;
  const endsAt = Date.parse(createdAt) + triedForMs;
  if (outcome === 'gone' || now.getTime() >= endsAt) {
    return { state: 'failed', now: at, nextAttemptAt: null, failure };
  }
  const waitMs = outcome === 'refused' ? refusedWaitMs : backoffMs(attempts, retryAfterMs, random);
  const next = Math.max(Math.min(now.getTime() + waitMs, endsAt), now.getTime() + retryAfterMs);
  return { state: 'waiting', now: at, nextAttemptAt: new Date(next).toISOString(), failure };
}
