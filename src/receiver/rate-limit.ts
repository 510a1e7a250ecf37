import type { Clock } from '../lib/clock.ts';

/** How fast one install may have things stored. Each has its own, so none uses up another's. */
export interface RateLimit {
  /**
   * Takes one delivery of so many bytes from what the install may have.
   *
   * @param install one that there is, as it is remembered
   * @returns how many milliseconds to wait before there is enough, and nothing is taken; 0 if it was
   */
  take(install: string, bytes: number): number;
}

export interface Rates {
  deliveriesPerMinute: number;
  bytesPerMinute: number;
}

interface Bucket {
  deliveries: number;
  bytes: number;
  filledAt: number;
}

const minuteMs = 60_000;

/** Token buckets that hold what a minute brings, so that a minute's worth may come at once. */
export function createRateLimit(rates: Rates, clock: Clock): RateLimit {
  const { deliveriesPerMinute, bytesPerMinute } = rates;
  const buckets = new Map<string, Bucket>();

  function fill(install: string): Bucket {
    const now = clock.now().getTime();
    const full = { deliveries: deliveriesPerMinute, bytes: bytesPerMinute, filledAt: now };
    const bucket = buckets.get(install) ?? full;
    // A clock that was set back brings nothing, and takes nothing away.
    const minutes = Math.max(0, now - bucket.filledAt) / minuteMs;
    bucket.deliveries = Math.min(full.deliveries, bucket.deliveries + minutes * deliveriesPerMinute);
    bucket.bytes = Math.min(full.bytes, bucket.bytes + minutes * bytesPerMinute);
    bucket.filledAt = now;
    buckets.set(install, bucket);
    return bucket;
  }

  return {
    take(install, bytes) {
      const bucket = fill(install);
      const missing = Math.max((1 - bucket.deliveries) / deliveriesPerMinute, (bytes - bucket.bytes) / bytesPerMinute);
      if (missing > 0) return missing * minuteMs;
      bucket.deliveries -= 1;
      bucket.bytes -= bytes;
      return 0;
    },
  };
}
