import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../domain/errors.ts';

/** Spreads the requests of one client over time, because the marketplace publishes no quota. */
export interface Pacer {
  /**
   * Resolves when the next request may be sent, in the order of the calls.
   *
   * @throws AppError `rate_limited` if a pause is too long to wait in the process, `unavailable` if the
   * signal ends the wait
   */
  admit(signal: AbortSignal): Promise<void>;
  /** Admits no request for this long. It never shortens a longer pause. */
  pause(ms: number): void;
}

export interface Pacing {
  requestsPerSecond: number;
  /** How many requests may be sent at once after a silence. */
  burst: number;
}

/** A shorter pause is waited for. A longer one is for the durable back-off. */
const longestWaitMs = 5000;

export function createPacer({ requestsPerSecond, burst }: Pacing): Pacer {
  const spacingMs = 1000 / requestsPerSecond;
  const toleranceMs = (burst - 1) * spacingMs;
  /** Monotonic, because a corrected clock must not delay requests. */
  const now = () => performance.now();
  let isFullAt = 0;
  let pausedUntil = 0;

  function takeSlot(): number {
    const at = Math.max(now(), isFullAt - toleranceMs);
    isFullAt = Math.max(isFullAt, at) + spacingMs;
    return at;
  }

  return {
    async admit(signal) {
      do {
        const pauseMs = pausedUntil - now();
        if (pauseMs > longestWaitMs) throw toPaused(pauseMs);
        await wait(pauseMs, signal);
        // A slot is taken after the pause, or all waiting requests would be sent at its end.
        if (pausedUntil <= now()) await wait(takeSlot() - now(), signal);
      } while (pausedUntil > now());
    },
    pause(ms) {
      pausedUntil = Math.max(pausedUntil, now() + ms);
    },
  };
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  try {
    signal.throwIfAborted();
    if (ms > 0) await sleep(ms, undefined, { signal });
  } catch (error) {
    const message = 'Could not ask the marketplace: stopped while the request waited for its turn';
    throw new AppError('unavailable', message, { cause: error });
  }
}

function toPaused(pauseMs: number): AppError {
  const seconds = Math.ceil(pauseMs / 1000);
  const message = `Could not ask the marketplace: it accepts no requests for ${seconds} s more`;
  return new AppError('rate_limited', message, { retryAfterMs: Math.ceil(pauseMs) });
}
