import { randomUUID } from 'node:crypto';
import type { Context } from '../context.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { createOutbox } from '../lib/outbox.ts';
import { backoffMs } from '../lib/retry.ts';
import { purgeAlerts } from './alert-store.ts';
import type { Channel, Message, MessageResult } from './channels.ts';
import {
  claimDispatch,
  type DispatchClaim,
  endUnconfiguredDispatches,
  purgeDispatches,
  type Settlement,
  settleDispatch,
} from './notice-store.ts';

/** Sends the notices of one channel, message after message; any instance may. */
export function createNotifyWorker(ctx: Context, channel: Channel): Loop {
  return createLoop({ ...ctx, name: `notify ${channel.name}`, run: createNotifying(ctx, channel) });
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
  const { metrics, clock, alerts, logger } = ctx;
  metrics.notifications.inc({ channel, outcome: sent.outcome });
  const settlement = settleMessage(claim, sent, clock.now());
  // Otherwise another instance has taken the message over.
  const isOurs = await settleDispatch(ctx, claim, settlement);
  const { id: message, attempts, notices } = claim;
  const subject = { channel, message, notices: notices.length, attempts };
  if (sent.outcome === 'sent') {
    if (sent.failure === undefined) logger.info(subject, 'A notice was sent');
    else logger.warn({ ...subject, failure: sent.failure }, 'A notice was sent, in part');
    return;
  }
  const fields = { ...subject, outcome: sent.outcome, failure: sent.failure };
  if (isOurs && settlement.state === 'failed') {
    alerts.raise('notification_failed', fields);
    return;
  }
  const nextAttemptAt = isOurs ? settlement.nextAttemptAt : undefined;
  logger.warn({ ...fields, nextAttemptAt }, 'A notice could not be sent yet');
}

const triedForMs = 3 * 86_400_000;
/** A refusal is not corrected within seconds. */
const refusedWaitMs = 3_600_000;

/**
 * Pure: the state of a message after an attempt. Gangway tries for three days, the last time at their end, unless the
 * message arrived or the receiver does not want it any more.
 */
export function settleMessage(
  { createdAt, attempts }: Pick<Message, 'createdAt'> & { attempts: number },
  sent: MessageResult,
  now: Date,
  random?: () => number,
): Settlement {
  const at = now.toISOString();
  if (sent.outcome === 'sent') return { state: 'sent', now: at, nextAttemptAt: null, failure: sent.failure ?? null };
  const { outcome, failure, retryAfterMs = 0 } = sent;
  const endsAt = Date.parse(createdAt) + triedForMs;
  if (outcome === 'gone' || now.getTime() >= endsAt) {
    return { state: 'failed', now: at, nextAttemptAt: null, failure };
  }
  const waitMs = outcome === 'refused' ? refusedWaitMs : backoffMs(attempts, retryAfterMs, random);
  const next = Math.max(Math.min(now.getTime() + waitMs, endsAt), now.getTime() + retryAfterMs);
  return { state: 'waiting', now: at, nextAttemptAt: new Date(next).toISOString(), failure };
}

const keptMs = 30 * 86_400_000;
/** By then, an instance that knows the channel would have sent it, even during an upgrade. */
const uncaredMs = 10 * 60_000;

/**
 * Gives up notices whose channel is gone, and deletes notices and alerts that ended long ago.
 *
 * @param chunkSize how many it deletes
 * @returns whether there may be more
 */
export async function purgeNotices(ctx: Context, chunkSize: number): Promise<boolean> {
  const { metrics, logger, clock } = ctx;
  const channels = [...ctx.config.notifications.channels.keys()];
  const now = toInstant(clock.now());
  const ended = await endUnconfiguredDispatches(ctx, channels, instantIn(clock, -uncaredMs), now);
  for (const [channel, { length: notices }] of Map.groupBy(ended, (name) => name)) {
    metrics.notifications.inc({ channel, outcome: 'unconfigured' }, notices);
    logger.warn({ channel, notices }, 'Notices were given up: no instance has their channel');
  }
  const before = instantIn(clock, -keptMs);
  const purged = (await purgeDispatches(ctx, before, chunkSize)) + (await purgeAlerts(ctx, before, chunkSize));
  return purged > 0;
}
