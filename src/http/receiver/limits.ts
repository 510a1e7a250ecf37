import { maxBodyBytes, rowOverheadBytes } from '../../domain/delivery.ts';
import { type Clock, minuteMs } from '../../lib/clock.ts';

/** What keeps one install from using the capacity of the others: its rate, the bytes in memory, and the disk. */

export interface Rates {
  deliveriesPerMinute: number;
  bytesPerMinute: number;
}

interface Bucket {
  deliveries: number;
  bytes: number;
  filledAt: number;
}

/**
 * How fast an install may deliver. Each install has a token bucket that holds one minute's limit, so a minute's
 * deliveries may arrive at once.
 */
export function createRateLimit({ deliveriesPerMinute, bytesPerMinute }: Rates, clock: Clock) {
  const buckets = new Map<string, Bucket>();

  function fill(install: string): Bucket {
    const now = clock.now().getTime();
    const bucket = buckets.get(install) ?? { deliveries: deliveriesPerMinute, bytes: bytesPerMinute, filledAt: now };
    // A clock that was set back neither fills nor empties the bucket.
    const minutes = Math.max(0, now - bucket.filledAt) / minuteMs;
    bucket.deliveries = Math.min(deliveriesPerMinute, bucket.deliveries + minutes * deliveriesPerMinute);
    bucket.bytes = Math.min(bytesPerMinute, bucket.bytes + minutes * bytesPerMinute);
    bucket.filledAt = now;
    buckets.set(install, bucket);
    return bucket;
  }

  return {
    /**
     * Takes one delivery and its bytes from the bucket.
     *
     * @param install one that exists, because its bucket stays in memory
     * @returns 0 if they were taken; otherwise how many milliseconds to wait before trying again
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
 * Limits how many bytes of requests are in memory at the same time. An owner may hold as much as is still free: one
 * owner gets at most half, two get a third each, and there is always something left for the next one.
 */
export function createByteBudget(maxBytes: number) {
  const held = new Map<string, number>();
  let total = 0;

  function add(owner: string, bytes: number): void {
    const after = amountOf(held, owner) + bytes;
    if (after === 0) held.delete(owner);
    else held.set(owner, after);
    total += bytes;
  }

  return {
    /** @param owner any text; it is forgotten when its last share is released */
    open(owner: string) {
      let taken = 0;
      return {
        /** @returns whether there was room; if not, nothing was taken */
        take(bytes: number): boolean {
          if (amountOf(held, owner) + bytes > maxBytes - total - bytes) return false;
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

export type StorageGate = ReturnType<typeof createStorageGate>;

type StorageDeferral = 'stored_bytes' | 'disk_reserve';

export interface StorageLimits {
  /** How much one install may have stored. */
  storedBytes: number;
  /** When no more than this is free on the disk, it is shared evenly between the installs. */
  reserveBytes: number;
}

interface StorageGateDeps {
  /** The bytes that each install has stored. */
  readStored(): Promise<ReadonlyMap<string, number>>;
  /** The free bytes on the database's disk; null if unknown. */
  readFree(): Promise<number | null>;
  countInstalls(): number;
  limits: StorageLimits;
  clock: Clock;
}

/** How long a measurement of the database and the disk is used. */
const measuredForMs = 1000;
/**
 * A delivery is written to the database's log and to its file, and to the log again once it is handled. The fourth
 * time is for the evidence that is written because of it.
 */
const timesWritten = 4;

/**
 * Limits what an install may store. When the disk is short, each install may store its share of the reserve and no more.
 * What it had stored before is not counted, so that a flood from one install does not stop another that has much stored.
 */
export function createStorageGate({ readStored, readFree, countInstalls, limits, clock }: StorageGateDeps) {
  let stored: ReadonlyMap<string, number> = new Map();
  let freeBytes: number | null = null;
  let measuredAt = Number.NEGATIVE_INFINITY;
  let measuring = Promise.resolve();
  /** What was allowed since the last measurement. */
  let unmeasured = new Map<string, number>();
  /** What was allowed between the last two measurements: the last one missed it if it was not stored by then. */
  let perhapsMeasured = new Map<string, number>();
  /** What each install had when the disk became short. */
  let hadBefore: ReadonlyMap<string, number> | undefined;

  async function measure(): Promise<void> {
    [stored, freeBytes] = await Promise.all([readStored(), readFree()]);
    [perhapsMeasured, unmeasured] = [unmeasured, new Map()];
  }

  function heldBy(install: string): number {
    return amountOf(stored, install) + amountOf(perhapsMeasured, install) + amountOf(unmeasured, install);
  }

  function isShortWith(bytes: number): boolean {
    if (freeBytes === null || countInstalls() < 2) return false;
    const toCome = sumOf(perhapsMeasured) + sumOf(unmeasured) + bytes;
    return freeBytes - timesWritten * toCome < limits.reserveBytes;
  }

  function exceedsShare(install: string, bytes: number): boolean {
    if (!isShortWith(bytes)) {
      hadBefore = undefined;
      return false;
    }
    hadBefore ??= new Map([...stored, ...perhapsMeasured, ...unmeasured].map(([one]) => [one, heldBy(one)]));
    const share = limits.reserveBytes / timesWritten / countInstalls();
    return heldBy(install) + bytes - amountOf(hadBefore, install) > share;
  }

  async function judge(install: string, bytes: number): Promise<StorageDeferral | undefined> {
    const now = clock.now().getTime();
    if (Math.abs(now - measuredAt) >= measuredForMs) {
      measuredAt = now;
      // A database that fails is reported when a delivery cannot be stored.
      measuring = measure().catch(() => undefined);
    }
    await measuring;
    if (heldBy(install) + bytes > limits.storedBytes) return 'stored_bytes';
    return exceedsShare(install, bytes) ? 'disk_reserve' : undefined;
  }

  return {
    /**
     * Counts the deliveries that it allows, so that a flood between two measurements is noticed too.
     *
     * @returns why the delivery must not be stored now; undefined if it may
     */
    async check(install: string, bodyBytes: number): Promise<StorageDeferral | undefined> {
      const bytes = bodyBytes + rowOverheadBytes;
      const deferral = await judge(install, bytes);
      if (deferral === undefined) unmeasured.set(install, amountOf(unmeasured, install) + bytes);
      return deferral;
    },
    /** Whether a delivery of the largest size would be deferred. It counts nothing. */
    wouldDefer: (install: string): Promise<StorageDeferral | undefined> =>
      judge(install, maxBodyBytes + rowOverheadBytes),
  };
}

function amountOf(amounts: ReadonlyMap<string, number>, owner: string): number {
  return amounts.get(owner) ?? 0;
}

function sumOf(amounts: ReadonlyMap<string, number>): number {
  return [...amounts.values()].reduce((sum, bytes) => sum + bytes, 0);
}
