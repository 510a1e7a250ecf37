import { backoffMs } from '../lib/backoff.ts';
import type { Message, MessageResult } from './channel.ts';
import type { Settlement } from './dispatch-store.ts';

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
