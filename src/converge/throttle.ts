import type { ErrorCode } from '../domain/errors.ts';
import type { Clock } from '../lib/clock.ts';
import { backoffMs } from '../lib/retry.ts';
import type { ConvergeResult } from './converge-result.ts';

// How many calls a tool gets: none while it is down (the breaker), otherwise as many as it keeps up with (the pace),
// which the installs share (the slots).

/**
 * Pauses all calls to a tool that does not answer or refuses our token. Then one probe at a time asks whether it works
 * again, instead of the retries of all memberships. A refusal may concern a single group, so the breaker opens only if
 * a check of the whole tool fails too.
 */
export interface Breaker {
  isOpen(): boolean;
  isProbeDue(): boolean;
  /** When the next probe is due; null if the breaker is closed. */
  probesAt(): Date | null;
  /** Whether the tool must be checked now, because of earlier results. */
  isCheckDue(): boolean;
  report(result: Pick<ConvergeResult, 'errorCode' | 'retryAfterMs'>): void;
  /** Call it when a check begins. There is one check at a time, and a pause between checks. */
  checking(): void;
  /** @returns whether the breaker has just opened */
  checked(finding: Pick<ConvergeResult, 'errorCode' | 'retryAfterMs'>): boolean;
  /** @param isWell the result of the probe: the breaker closes, or waits longer for the next probe */
  probed(isWell: boolean): void;
}

/** After this many failures in a row the tool itself may be down. */
const failuresInARow = 5;
const longestWaitMs = 60_000;
/** A longer `Retry-After` applies to the refused call only, and not to the whole tool. */
const longestLeaveMs = 600_000;
/** The pause between checks, however often one group is refused. */
const checkEveryMs = 10_000;

export function createBreaker(clock: Clock, random = Math.random): Breaker {
  let [failures, probes] = [0, 0];
  let probeAtMs: number | null = null;
  /** Until when the tool asked us to wait. */
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
        // Only a success resets the waits between probes. A refusal shows just that the tool answers.
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

/** True also for a time that is too far ahead, because then the clock was corrected. */
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

export interface Slots {
  /** How many calls the tool keeps up with now. */
  pace: number;
  /** How many calls it may ever get at once. */
  max: number;
  /** Whether several installs are connected to the tool. */
  isShared: boolean;
}

/**
 * Installs take turns in a tool. The install with the fewest running calls is next, and while others wait no install
 * gets more than half of the slots. In a shared tool half of the slots stay free even while no other install waits,
 * because a call that hangs keeps its slot. Calls beyond an install's half take no slot from the others, and two
 * installs always have a slot each, however slow the tool is. Pure.
 *
 * @param waiting installs with due work; of two with the same number of calls, the first is next
 * @param underway the number of running calls of each install
 * @returns how many calls each install may begin
 */
export function shareSlots(
  waiting: readonly string[],
  underway: ReadonlyMap<string, number>,
  { pace, max, isShared }: Slots,
): Map<string, number> {
  const isContested = new Set([...waiting, ...underway.keys()]).size > 1;
  const slots = isContested ? Math.min(max, Math.max(pace, 2)) : pace;
  const most = isContested ? atLeastOne(slots / 2) : Math.min(slots, isShared ? atLeastOne(max / 2) : max);
  const counts = new Map(waiting.map((install) => [install, underway.get(install) ?? 0]));
  const shares = new Map<string, number>();
  const running = [...underway.values()];
  const taken = sum(running.map((count) => Math.min(count, most)));
  for (let free = Math.min(slots - taken, max - sum(running)); free > 0; free -= 1) {
    const [next] = [...counts].filter(([, count]) => count < most).sort(([, a], [, b]) => a - b);
    if (next === undefined) break;
    const [install, count] = next;
    counts.set(install, count + 1);
    shares.set(install, (shares.get(install) ?? 0) + 1);
  }
  return shares;
}

function atLeastOne(count: number): number {
  return Math.max(1, Math.floor(count));
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

/**
 * How many calls a tool gets at once (additive increase, multiplicative decrease). It begins with one, adds one for
 * each round of quick answers, and halves when the tool does not answer in time. An overloaded tool gets more done that
 * way, because late answers are wasted work.
 */
export interface Pace {
  /** Rounded down to a number of memberships. */
  atOnce: number;
  /** When it was last halved. Samples that began before are ignored. */
  slowedAtMs: number;
}

/** The times of one membership's calls, by one clock. */
export interface PaceSample {
  begunAtMs: number;
  endedAtMs: number;
  /** Whether the tool did not answer, or said that it is overloaded. */
  isUnanswered: boolean;
  /** Whether all slots were in use when it began. Otherwise it does not show that the tool can do more. */
  isFull: boolean;
}

interface PaceLimits {
  /** The upper limit, however quick the tool is. */
  maxAtOnce: number;
  quickMs: number;
}

export const firstPace: Pace = { atOnce: 1, slowedAtMs: Number.NEGATIVE_INFINITY };

export function adaptPace(pace: Pace, sample: PaceSample, { maxAtOnce, quickMs }: PaceLimits): Pace {
  if (sample.begunAtMs < pace.slowedAtMs) return pace;
  if (sample.isUnanswered) {
    return { atOnce: Math.max(1, Math.floor(pace.atOnce) / 2), slowedAtMs: sample.endedAtMs };
  }
  const isQuick = sample.endedAtMs - sample.begunAtMs <= quickMs;
  if (!isQuick || !sample.isFull) return pace;
  return { ...pace, atOnce: Math.min(maxAtOnce, pace.atOnce + 1 / Math.floor(pace.atOnce)) };
}

/** The number of memberships that may be worked on at once. */
export function slotsOf({ atOnce }: Pace): number {
  return Math.floor(atOnce);
}
