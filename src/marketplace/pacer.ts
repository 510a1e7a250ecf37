import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../domain/errors.ts';

/** Spreads one client's requests over time, as no quota is published. */
export interface Pacer {
  /**
   * Resolves when the next request may be sent, in the order of asking.
   *
   * @throws AppError `rate_limited` where a pause lasts for longer than anybody should wait in
   * process, `unavailable` where the signal ends the wait
   */
  admit(signal: AbortSignal): Promise<void>;
  /** Nobody is admitted for so long; never shortens a pause that is longer. */
  pause(ms: number): void;
}

export interface Pacing {
  requestsPerSecond: number;
  /** So many may follow each other at once after a silence. */
  burst: number;
}

/** A pause that is over sooner is waited for; a longer one belongs to the durable back-off. */
const longestWaitMs = 5000;

export function createPacer({ requestsPerSecond, burst }: Pacing): Pacer {
  const spacingMs = 1000 / requestsPerSecond;
  const toleranceMs = (burst - 1) * spacingMs;
  /** Monotonic, as a corrected clock must not hold requests back. */
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
        // A slot is taken after the pause, or all who waited would be sent at its end.
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
    const message = 'Could not ask the marketplace: told to stop while waiting for its turn';
    throw new AppError('unavailable', message, { cause: error });
  }
}

function toPaused(pauseMs: number): AppError {
  const seconds = Math.ceil(pauseMs / 1000);
  const message = `Could not ask the marketplace: it wants to be left alone for ${seconds} s more`;
  return new AppError('rate_limited', message, { retryAfterMs: Math.ceil(pauseMs) });
}
