import { randomUUID } from 'node:crypto';
import type { Storage } from '../keys/storage.ts';
import type { Alerts } from '../lib/alerts.ts';
import { backoffMs } from '../lib/backoff.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop, type Polling } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
import { createOutbox } from '../lib/outbox.ts';
import type { Channel, Message, MessageResult } from './channel.ts';
import { claimDispatch, type DispatchClaim, type Settlement, settleDispatch } from './dispatch-store.ts';

export interface NotifyDeps extends Storage, Polling {
  channel: Channel;
  metrics: Metrics;
  alerts: Alerts;
  logger: Logger;
  clock: Clock;
}

/** Sends the notices of one channel, message after message; any instance may. */
export function createNotifyWorker(deps: NotifyDeps): Loop {
  const { channel, logger, clock } = deps;
  return createLoop({ name: `notify ${channel.name}`, pollMs: deps.pollMs, logger, clock, run: createNotifying(deps) });
}

/** Sends what is due, one message per call. */
export function createNotifying(deps: NotifyDeps): (signal: AbortSignal) => Promise<'more' | 'idle'> {
  const { channel, clock } = deps;
  const { name, maxNotices, longestSendMs, send } = channel;
  return createOutbox<DispatchClaim, MessageResult>({
    claim: (lease) =>
      claimDispatch(deps, {
        ...lease,
        channel: name,
        maxNotices,
        token: randomUUID(),
        newMessageId: `msg_${randomUUID()}`,
      }),
    send,
    settle: (claim, sent) => settle(deps, claim, sent),
    isDown: ({ outcome }) => outcome === 'deferred' || outcome === 'refused',
    longestSendMs,
    clock,
  });
}

async function settle(deps: NotifyDeps, claim: DispatchClaim, sent: MessageResult): Promise<void> {
  const { channel, metrics, clock } = deps;
  metrics.notifications.inc({ channel: channel.name, outcome: sent.outcome });
  const settlement = settleMessage(claim, sent, clock.now());
  const isOurs = await settleDispatch(deps, claim, settlement);
  logOutcome(deps, claim, sent, isOurs ? settlement : null);
}

/** @param settlement null where another instance has taken the message over */
function logOutcome(
  { channel, alerts, logger }: NotifyDeps,
  claim: DispatchClaim,
  sent: MessageResult,
  settlement: Settlement | null,
): void {
  const { id, attempts, notices } = claim;
  const subject = { channel: channel.name, message: id, notices: notices.length, attempts };
  if (sent.outcome === 'sent') {
    if (sent.failure === undefined) logger.info(subject, 'A notice was sent');
    else logger.warn({ ...subject, failure: sent.failure }, 'A notice was sent, in part');
    return;
  }
  const fields = { ...subject, outcome: sent.outcome, failure: sent.failure };
  if (settlement?.state === 'failed') {
    alerts.raise('notification_failed', fields, 'A notice was given up');
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
