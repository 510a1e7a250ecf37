import type { ErrorCode } from '../domain/errors.ts';
import type { Clock } from '../lib/clock.ts';
import { backoffMs } from '../lib/retry.ts';
import type { ConvergeResult } from './converge-result.ts';

/**
 * Leaves a tool alone if it does not answer or refuses our token. Then one probe at a time asks whether it works again.
 * Without a breaker, the retries of all memberships would ask. A refusal that concerns one group is not the tool's:
 * only if the check of the whole tool fails too is the tool left alone.
 */
export interface Breaker {
  isOpen(): boolean;
  isProbeDue(): boolean;
  /** When the next probe is due; null if the breaker is closed. */
  probesAt(): Date | null;
  /** Whether results raise doubt about the tool, so that it must be checked now. */
  isCheckDue(): boolean;
  report(result: Pick<ConvergeResult, 'errorCode' | 'retryAfterMs'>): void;
  /** Says that a check has begun. There is one check at a time, and a pause between checks. */
  checking(): void;
  /** @returns whether the breaker has just opened */
  checked(finding: Pick<ConvergeResult, 'errorCode' | 'retryAfterMs'>): boolean;
  /** @param isWell the result of the probe: the breaker closes, or waits longer for the next probe */
  probed(isWell: boolean): void;
}

/** After this many failures in a row the tool itself may be in trouble, and not only one member. */
const failuresInARow = 5;
const longestWaitMs = 60_000;
/** A longer request to wait concerns the call that was refused, and not the whole tool. */
const longestLeaveMs = 600_000;
/** The pause between checks, however often one group is refused. */
const checkEveryMs = 10_000;

export function createBreaker(clock: Clock, random = Math.random): Breaker {
  let [failures, probes] = [0, 0];
  let probeAtMs: number | null = null;
  /** Until when the tool asked to be left alone. */
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
        // A refusal for one member proves that the tool answers. Only missing answers keep counting.
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

/** Whether this time has come. Also true if it is too far ahead, because then the clock was corrected. */
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
