const firstWaitMs = 1000;
const longestWaitMs = 3_600_000;

/**
 * How long to leave something alone after it failed for the `attempts`-th time: exponential with
 * full jitter, at most an hour, and never less than it asked for itself. Milliseconds.
 */
export function backoffMs(attempts: number, retryAfterMs = 0, random = Math.random): number {
  const ceiling = Math.min(firstWaitMs * 2 ** attempts, longestWaitMs);
  return Math.max(retryAfterMs, Math.round(random() * ceiling));
}
