import type { ErrorCode } from '../domain/errors.ts';
import { backoffMs } from '../lib/backoff.ts';
import type { Clock } from '../lib/clock.ts';
import type { ConvergeResult } from './settle-store.ts';

/**
 * Leaves a tool alone that does not answer, or no longer lets us in: after that one probe at a time
 * asks whether it does again. Without, everybody's retries would find out, each for themselves.
 * What is refused about one group is that group's trouble: only where the check of the whole tool
 * fails as well is the tool left alone.
 */
export interface Breaker {
  isOpen(): boolean;
  isProbeDue(): boolean;
  /** When the next probe is due; null where it is not open. */
  probesAt(): Date | null;
  /** Whether a result has put the tool in doubt, so that it is to be checked now. */
  isCheckDue(): boolean;
  report(result: Pick<ConvergeResult, 'errorCode' | 'retryAfterMs'>): void;
  /** A check has begun: there is one at a time, and not more often than every few seconds. */
  checking(): void;
  /** @returns whether it has opened just now */
  checked(finding: Pick<ConvergeResult, 'errorCode' | 'retryAfterMs'>): boolean;
  /** @param isWell what the probe found: it closes, or waits longer for the next */
  probed(isWell: boolean): void;
}

/** So many in a row may be the tool's trouble and not a person's. */
const failuresInARow = 5;
const longestWaitMs = 60_000;
/** Whoever asks to be left alone for longer means what was asked for, and not the tool as a whole. */
const longestLeaveMs = 600_000;
/** However often one group is refused, the tool is not asked more often. */
const checkEveryMs = 10_000;

export function createBreaker(clock: Clock, random = Math.random): Breaker {
  let [failures, probes] = [0, 0];
  let probeAtMs: number | null = null;
  /** Until when the tool wants to be left alone, as far as it has told. */
  let leaveUntilMs = 0;
  let [isInDoubt, isChecking] = [false, false];
  let mayCheckAtMs = Number.NEGATIVE_INFINITY;

  const nowMs = () => clock.now().getTime();
  const leave = (ms: number) => {
    leaveUntilMs = Math.max(leaveUntilMs, nowMs() + Math.min(ms, longestLeaveMs));
  };

  function open(): void {
    probes += 1;
    const waitMs = Math.min(backoffMs(probes, 0, random), longestWaitMs);
    probeAtMs = Math.max(nowMs() + waitMs, leaveUntilMs);
  }

  return {
    isOpen: () => probeAtMs !== null,
    probesAt: () => (probeAtMs === null ? null : new Date(probeAtMs)),
    isProbeDue: () => probeAtMs !== null && hasCome(probeAtMs, nowMs()),
    isCheckDue: () => isInDoubt && !isChecking && probeAtMs === null && hasCome(mayCheckAtMs, nowMs()),
    report({ errorCode, retryAfterMs = 0 }) {
      if (retryAfterMs > longestLeaveMs) return;
      if (!concernsTool(errorCode)) {
        failures = 0;
        // What refuses one person lets others in; only an answer that is none keeps counting.
        if (errorCode === undefined) probes = 0;
        return;
      }
      failures += errorCode === 'unavailable' ? 1 : failuresInARow;
      leave(retryAfterMs);
      isInDoubt ||= failures >= failuresInARow;
    },
    checking() {
      isChecking = true;
      isInDoubt = false;
    },
    checked({ errorCode, retryAfterMs = 0 }) {
      isChecking = false;
      mayCheckAtMs = nowMs() + checkEveryMs;
      failures = 0;
      const isTroubled = concernsTool(errorCode);
      if (isTroubled) leave(retryAfterMs);
      else leaveUntilMs = 0;
      if (isTroubled) open();
      return isTroubled;
    },
    probed(isWell) {
      failures = 0;
      isInDoubt = false;
      leaveUntilMs = 0;
      if (isWell) probeAtMs = null;
      else open();
    },
  };
}

/** Also where the clock was ahead, and is right again: nobody is left alone for so long. */
function hasCome(ms: number, nowMs: number): boolean {
  return nowMs >= ms || ms - nowMs > longestLeaveMs;
}

function concernsTool(errorCode: ErrorCode | undefined): boolean {
  return (
    errorCode === 'unavailable' ||
    errorCode === 'rate_limited' ||
    errorCode === 'unauthenticated' ||
    errorCode === 'forbidden'
  );
}
