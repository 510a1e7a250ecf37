import type { Clock } from '../lib/clock.ts';

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

/**
 * How fast deliveries of one install may be stored. Each install has a token bucket that holds the limit of a minute, so
 * that the deliveries of a minute may come at once.
 */
export function createRateLimit(rates: Rates, clock: Clock) {
  const { deliveriesPerMinute, bytesPerMinute } = rates;
  const buckets = new Map<string, Bucket>();

  function fill(install: string): Bucket {
    const now = clock.now().getTime();
    const full = { deliveries: deliveriesPerMinute, bytes: bytesPerMinute, filledAt: now };
    const bucket = buckets.get(install) ?? full;
    // A clock that was set back adds nothing and takes nothing away.
    const minutes = Math.max(0, now - bucket.filledAt) / minuteMs;
    bucket.deliveries = Math.min(full.deliveries, bucket.deliveries + minutes * deliveriesPerMinute);
    bucket.bytes = Math.min(full.bytes, bucket.bytes + minutes * bytesPerMinute);
    bucket.filledAt = now;
    buckets.set(install, bucket);
    return bucket;
  }

  return {
    /**
     * Takes one delivery and its bytes from the limit of the install.
     *
     * @param install one that exists, because it is kept in memory
     * @returns 0 if it was taken; otherwise how many milliseconds to wait until it can be
     */
    take(install: string, bytes: number): number {
      const bucket = fill(install);
      const missing = Math.max((1 - bucket.deliveries) / deliveriesPerMinute, (bytes - bucket.bytes) / bytesPerMinute);
      if (missing > 0) return missing * minuteMs;
      bucket.deliveries -= 1;
      bucket.bytes -= bytes;
      return 0;
    },
  };
}

/** The bytes that one request holds. */
export type ByteShare = ReturnType<ReturnType<typeof createByteBudget>['open']>;

/**
 * Limits how many bytes of requests are in memory at the same time. An owner may hold as much as is still free. So one
 * owner gets at most half, two get a third each, and with any number of them something is left for the next one.
 */
export function createByteBudget(maxBytes: number) {
  const held = new Map<string, number>();
  let total = 0;

  function add(owner: string, bytes: number): void {
    const after = (held.get(owner) ?? 0) + bytes;
    if (after === 0) held.delete(owner);
    else held.set(owner, after);
    total += bytes;
  }

  return {
    /** @param owner any text; it is forgotten with its last share */
    open(owner: string) {
      let taken = 0;
      return {
        /** @returns whether there was room; otherwise nothing is counted */
        take(bytes: number): boolean {
          const after = (held.get(owner) ?? 0) + bytes;
          if (after > maxBytes - total - bytes) return false;
          add(owner, bytes);
          taken += bytes;
          return true;
        },
        /** Gives all bytes back. It may be called again. */
        release(): void {
          add(owner, -taken);
          taken = 0;
        },
      };
    },
  };
}
