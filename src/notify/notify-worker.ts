import { randomUUID } from 'node:crypto';
import type { Alerts } from '../lib/alerts.ts';
import { backoffMs } from '../lib/backoff.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop, type Polling } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
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

/** Sends what is due, one message per call. A channel that accepts nothing gets pauses. */
export function createNotifying(deps: NotifyDeps): (signal: AbortSignal) => Promise<'more' | 'idle'> {
  const { channel, clock } = deps;
  const rest = createRest(clock);
  return async (signal) => {
    if (rest.isOn()) return 'idle';
    const claim = await claimNext(deps);
    if (claim === null) return 'idle';
    const sent = await channel.send(claim, signal);
    // It is not known whether it arrived: it is sent again after the lease, under the same id.
    if (signal.aborted && sent.outcome !== 'sent') return 'idle';
    rest.note(sent);
    await settle(deps, claim, sent);
    return 'more';
  };
}

/** Pauses grow with the messages in a row that a channel did not accept. Each instance counts alone. */
function createRest(clock: Clock) {
  let failures = 0;
  let until = '';
  return {
    isOn: () => toInstant(clock.now()) < until,
    note(sent: MessageResult) {
      const isTaken = sent.outcome === 'sent' || sent.outcome === 'gone';
      failures = isTaken ? 0 : failures + 1;
      if (!isTaken) until = instantIn(clock, backoffMs(failures, sent.retryAfterMs));
    },
  };
}

async function claimNext({ channel, dispatches, clock }: NotifyDeps) {
  // A send fits into it, with the work before and after.
  const leaseMs = 2 * channel.longestSendMs;
  const begunAt = performance.now();
  const claim = await dispatches.claim({
    channel: channel.name,
    maxNotices: channel.maxNotices,
    token: randomUUID(),
    now: toInstant(clock.now()),
    leasedUntil: instantIn(clock, leaseMs),
    newMessageId: `msg_${randomUUID()}`,
  });
  // After a freeze of this process, another instance may have the message.
  return performance.now() - begunAt > leaseMs / 2 ? null : claim;
}

async function settle(deps: NotifyDeps, claim: DispatchClaim, sent: MessageResult): Promise<void> {
  const { channel, dispatches, metrics, clock } = deps;
  metrics.notifications.inc({ channel: channel.name, outcome: sent.outcome });
  const settlement = settleMessage(claim, sent, clock.now());
  const isOurs = await dispatches.settle(claim, settlement);
  tell(deps, claim, sent, isOurs ? settlement : null);
}

/** @param settlement null where another instance has taken the message over */
function tell(
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
