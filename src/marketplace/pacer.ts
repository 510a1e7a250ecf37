import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../domain/errors.ts';

export type Pacer = ReturnType<typeof createPacer>;

export interface Pacing {
  requestsPerSecond: number;
  /** How many requests may be sent at once after an idle time. */
  burst: number;
}

/** A longer pause is for the durable back-off. */
const longestWaitMs = 5000;

/** Spreads requests over time, because the marketplace publishes no quota. */
export function createPacer({ requestsPerSecond, burst }: Pacing) {
  const spacingMs = 1000 / requestsPerSecond;
  const toleranceMs = (burst - 1) * spacingMs;
  /** Monotonic, so that a clock correction delays no request. */
  const now = () => performance.now();
  let isFullAt = 0;
  let pausedUntil = 0;

  function takeSlot(): number {
    const at = Math.max(now(), isFullAt - toleranceMs);
    isFullAt = Math.max(isFullAt, at) + spacingMs;
    return at;
  }

  return {
    /**
     * Resolves when the next request may be sent, in the order of the calls.
     *
     * @throws AppError `rate_limited` if the pause is too long to wait here, `unavailable` if the signal ends the wait
     */
    async admit(signal: AbortSignal) {
      do {
        const pauseMs = pausedUntil - now();
        if (pauseMs > longestWaitMs) throw toPaused(pauseMs);
        await wait(pauseMs, signal);
        // The slot is taken after the pause, or all waiting requests would be sent at once.
        if (pausedUntil <= now()) await wait(takeSlot() - now(), signal);
      } while (pausedUntil > now());
    },
    /** Admits no request for this long. Never shortens a longer pause. */
    pause(ms: number) {
      pausedUntil = Math.max(pausedUntil, now() + ms);
    },
  };
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  try {
    signal.throwIfAborted();
    if (ms > 0) await sleep(ms, undefined, { signal });
  } catch (error) {
    const message = 'Could not ask the marketplace: the request was stopped while it waited for its turn';
    throw new AppError('unavailable', message, { cause: error });
  }
}

function toPaused(pauseMs: number): AppError {
  const seconds = Math.ceil(pauseMs / 1000);
  const message = `Could not ask the marketplace: it accepts no requests for another ${seconds} s`;
  return new AppError('rate_limited', message, { retryAfterMs: Math.ceil(pauseMs) });
}

const firstPauseMs = 1000;
const longestPauseMs = 60_000;

/** Pauses all requests after a 429. It is told of each answer, or of the failure. */
export function createRateLimit(pacer: Pacer): (failure?: unknown) => void {
  let refusals = 0;
  return (failure) => {
    if (failure === undefined) refusals = 0;
    // Without a status, the pacer refused the request.
    if (!(failure instanceof AppError) || failure.status !== 429) return;
    const ceilingMs = Math.min(firstPauseMs * 2 ** refusals, longestPauseMs);
    pacer.pause(failure.retryAfterMs ?? ceilingMs * (0.5 + Math.random() / 2));
    refusals += 1;
  };
}
