import { maxBodyBytes, rowOverheadBytes } from '../domain/delivery.ts';
import type { Clock } from '../lib/clock.ts';

/** Keeps one install from filling the disk of all. */
export type StorageGate = ReturnType<typeof createStorageGate>;

export type StorageDeferral = 'stored_bytes' | 'disk_reserve';

export interface StorageLimits {
  /** How much one install may have stored. */
  storedBytes: number;
  /** When only this much of the disk is free, it is shared evenly between the installs. */
  reserveBytes: number;
}

interface StorageGateDeps {
  /** What each install has stored, in bytes. */
  readStored(): Promise<ReadonlyMap<string, number>>;
  /** How many bytes are free on the disk of the database; null if unknown. */
  readFree(): Promise<number | null>;
  countInstalls(): number;
  limits: StorageLimits;
  clock: Clock;
}

/** How long a measurement of the database and the disk is used. */
const measuredForMs = 1000;
/**
 * A delivery is written to the log of the database and to its file, and, once it is handled, to the
 * log again. The fourth time stands for the evidence that is written because of it.
 */
const timesWritten = 4;

/**
 * When the disk is short, each install may store its share of the reserve and no more. What it had
 * stored before does not count, so that an install with much stored is not stopped by a flood from
 * another one.
 */
export function createStorageGate(deps: StorageGateDeps) {
  const { limits, clock, countInstalls } = deps;
  let stored: ReadonlyMap<string, number> = new Map();
  let freeBytes: number | null = null;
  let measuredAt = Number.NEGATIVE_INFINITY;
  let measuring = Promise.resolve();
  const unseen = createUnseen();
  /** What each install had when the disk became short. */
  let hadBefore: ReadonlyMap<string, number> | undefined;

  async function measure(): Promise<void> {
    [stored, freeBytes] = await Promise.all([deps.readStored(), deps.readFree()]);
    unseen.turn();
  }

  function measureAgain(now: number): Promise<void> {
    measuredAt = now;
    // A fault of the database is reported when a delivery cannot be stored.
    measuring = measure().catch(() => undefined);
    return measuring;
  }

  function isShortWith(bytes: number): boolean {
    if (freeBytes === null || countInstalls() < 2) return false;
    const toCome = unseen.total() + bytes;
    return freeBytes - timesWritten * toCome < limits.reserveBytes;
  }

  function exceedsShare(install: string, held: number, bytes: number): boolean {
    if (!isShortWith(bytes)) {
      hadBefore = undefined;
      return false;
    }
    hadBefore ??= addedUp(stored, unseen.byInstall());
    const share = limits.reserveBytes / timesWritten / countInstalls();
    return held + bytes - amountOf(hadBefore, install) > share;
  }

  async function judge(install: string, bytes: number): Promise<StorageDeferral | undefined> {
    const now = clock.now().getTime();
    await (Math.abs(now - measuredAt) >= measuredForMs ? measureAgain(now) : measuring);
    const held = amountOf(stored, install) + amountOf(unseen.byInstall(), install);
    if (held + bytes > limits.storedBytes) return 'stored_bytes';
    return exceedsShare(install, held, bytes) ? 'disk_reserve' : undefined;
  }

  return {
    /**
     * Counts the deliveries that it allows, so that it notices a flood between two measurements too.
     *
     * @returns why the delivery must not be stored now; undefined if it may
     */
    async check(install: string, bodyBytes: number): Promise<StorageDeferral | undefined> {
      const bytes = bodyBytes + rowOverheadBytes;
      const deferral = await judge(install, bytes);
      if (deferral === undefined) unseen.add(install, bytes);
      return deferral;
    },
    /** The same for a delivery of the largest size that is only imagined, so nothing is counted. */
    wouldDefer: (install: string): Promise<StorageDeferral | undefined> =>
      judge(install, maxBodyBytes + rowOverheadBytes),
  };
}

/** What was allowed since the measurement before the last, which may have missed what was not stored yet. */
function createUnseen() {
  let since = new Map<string, number>();
  let both = new Map<string, number>();
  let total = 0;
  return {
    byInstall: (): ReadonlyMap<string, number> => both,
    total: () => total,
    add(install: string, bytes: number) {
      since.set(install, amountOf(since, install) + bytes);
      both.set(install, amountOf(both, install) + bytes);
      total += bytes;
    },
    turn() {
      both = since;
      total = sumOf(both);
      since = new Map();
    },
  };
}

function amountOf(amounts: ReadonlyMap<string, number>, install: string): number {
  return amounts.get(install) ?? 0;
}

function sumOf(amounts: ReadonlyMap<string, number>): number {
  return [...amounts.values()].reduce((sum, bytes) => sum + bytes, 0);
}

function addedUp(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>) {
  const sums = new Map(one);
  for (const [install, bytes] of other) sums.set(install, amountOf(sums, install) + bytes);
  return sums;
}
