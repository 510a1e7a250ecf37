const firstWaitMs = 1000;
const longestWaitMs = 3_600_000;

/**
 * How many milliseconds to wait after the `attempts`-th failure: exponential with full jitter, at most
 * an hour, and never less than the failure itself asked for.
 */
export function backoffMs(attempts: number, retryAfterMs = 0, random = Math.random): number {
  const ceiling = Math.min(firstWaitMs * 2 ** attempts, longestWaitMs);
  return Math.max(retryAfterMs, Math.round(random() * ceiling));
}
