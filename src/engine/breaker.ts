import { backoffMs } from '../lib/backoff.ts';
import type { Clock } from '../lib/clock.ts';
import type { Result } from './settle-store.ts';

/**
 * Leaves a tool alone that does not answer, or no longer lets us in: after that one probe at a time
 * asks whether it does again. Without, everybody's retries would find out, each for themselves.
 */
export interface Breaker {
  isOpen(): boolean;
  isProbeDue(): boolean;
  /** @returns whether it has opened just now */
  report(result: Pick<Result, 'errorCode' | 'retryAfterMs'>): boolean;
  /** @param isWell what the probe found: it closes, or waits longer for the next */
  probed(isWell: boolean): void;
}

/** So many in a row are the tool's trouble and not a person's. */
const failuresInARow = 5;
const longestWaitMs = 60_000;

export function createBreaker(clock: Clock, random = Math.random): Breaker {
  let failures = 0;
  let probes = 0;
  let probeAtMs: number | null = null;

  const nowMs = () => clock.now().getTime();

  function open(atLeastMs: number): void {
    probes += 1;
    const waitMs = Math.min(backoffMs(probes, 0, random), longestWaitMs);
    probeAtMs = nowMs() + Math.max(waitMs, atLeastMs);
  }

  return {
    isOpen: () => probeAtMs !== null,
    isProbeDue: () => probeAtMs !== null && nowMs() >= probeAtMs,
    report({ errorCode, retryAfterMs = 0 }) {
      if (!concernsTool(errorCode)) {
        failures = 0;
        // What refuses one person lets others in; only an answer that is none keeps counting.
        if (errorCode === undefined) probes = 0;
        return false;
      }
      failures += errorCode === 'unavailable' ? 1 : failuresInARow;
      if (probeAtMs !== null || failures < failuresInARow) return false;
      open(retryAfterMs);
      return true;
    },
    probed(isWell) {
      failures = 0;
      if (isWell) probeAtMs = null;
      else open(0);
    },
  };
}

function concernsTool(errorCode: Result['errorCode']): boolean {
  return (
    errorCode === 'unavailable' ||
    errorCode === 'rate_limited' ||
    errorCode === 'unauthenticated' ||
    errorCode === 'forbidden'
  );
}
