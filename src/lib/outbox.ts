import { type Clock, instantIn, toInstant } from './clock.ts';
import { backoffMs } from './retry.ts';

export interface OutboxParts<Message, Result extends SendResult> {
  /** Leases a message that is due. The lease is long enough for the work before and after sending. */
  claim(lease: { now: string; leasedUntil: string }): Promise<Message | null>;
  send(message: Message, signal: AbortSignal): Promise<Result>;
  /** Stores the outcome, and when to try again. Does nothing if the lease was lost. */
  settle(message: Message, result: Result): Promise<void>;
  /** Whether the receiver accepts no message at present. */
  isDown(result: Result): boolean;
  longestSendMs: number;
  clock: Clock;
}

interface SendResult {
  outcome: string;
  /** How long the receiver asked to wait. */
  retryAfterMs?: number | undefined;
}

/**
 * Sends stored messages, one per call. Any instance may. A message with an unknown outcome is sent again after its lease, with
 * the same id. While the receiver is down, nothing is sent for a time that grows with each failure in a row. Each instance
 * counts its own failures.
 */
export function createOutbox<Message, Result extends SendResult>(
  parts: OutboxParts<Message, Result>,
): (signal: AbortSignal) => Promise<'more' | 'idle'> {
  const { clock } = parts;
  let failures = 0;
  let pausedUntil = '';
  return async (signal) => {
    if (toInstant(clock.now()) < pausedUntil) return 'idle';
    const leaseMs = 2 * parts.longestSendMs;
    const begunAt = performance.now();
    const message = await parts.claim({ now: toInstant(clock.now()), leasedUntil: instantIn(clock, leaseMs) });
    // After a freeze of this process another instance may have the message by now.
    if (message === null || performance.now() - begunAt > leaseMs / 2) return 'idle';
    const result = await parts.send(message, signal);
    // The send was aborted, so the message may have arrived.
    if (signal.aborted && result.outcome !== 'sent') return 'idle';
    failures = parts.isDown(result) ? failures + 1 : 0;
    if (failures > 0) pausedUntil = instantIn(clock, backoffMs(failures, result.retryAfterMs));
    await parts.settle(message, result);
    return 'more';
  };
}
