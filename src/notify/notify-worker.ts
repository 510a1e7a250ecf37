import { randomUUID } from 'node:crypto';
import type { Alerts } from '../lib/alerts.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop, type Polling } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
import { createOutbox } from '../lib/outbox.ts';
import type { Channel, MessageResult } from './channel.ts';
import type { DispatchClaim, DispatchStore, Settlement } from './dispatch-store.ts';
import { settleMessage } from './settle-message.ts';

export interface NotifyDeps extends Polling {
  channel: Channel;
  dispatches: DispatchStore;
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
  const { channel, dispatches, clock } = deps;
  const { name, maxNotices, longestSendMs, send } = channel;
  return createOutbox<DispatchClaim, MessageResult>({
    claim: (lease) =>
      dispatches.claim({
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
  const { channel, dispatches, metrics, clock } = deps;
  metrics.notifications.inc({ channel: channel.name, outcome: sent.outcome });
  const settlement = settleMessage(claim, sent, clock.now());
  const isOurs = await dispatches.settle(claim, settlement);
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
