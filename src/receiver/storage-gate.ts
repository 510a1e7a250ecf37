import { rowOverheadBytes } from '../domain/delivery.ts';
import type { Clock } from '../lib/clock.ts';

/** Keeps one install from filling the disk for all. */
export interface StorageGate {
  /**
   * Counts what is let through, so that a flood between two looks is seen too.
   *
   * @returns why the delivery must not be stored now; undefined where it may
   */
  check(install: string, bodyBytes: number): Promise<'stored_bytes' | 'disk_reserve' | undefined>;
}

export interface StorageLimits {
  /** What one install may have stored. */
  storedBytes: number;
  /** What of the disk is shared out evenly once no more than that is free. */
  reserveBytes: number;
}

interface StorageGateDeps {
  /** What each install has stored, in bytes. */
  readStored(): Promise<ReadonlyMap<string, number>>;
  /** What is free where it is stored, in bytes; null where that is not known. */
  readFree(): Promise<number | null>;
  countInstalls(): number;
  limits: StorageLimits;
  clock: Clock;
}

/** How long a look at the database and the disk is good for. */
const goodForMs = 1000;
/**
 * What is stored is written to the log of the database, and into its file; once it is handled, to
 * the log again. The fourth is for what the engine writes about it.
 */
const timesWritten = 4;

/**
 * Once the disk is short, each install may store its part of the reserve and no more, however much
 * it had before: who has much from better days is not to be held up by who makes it short now.
 */
export function createStorageGate(deps: StorageGateDeps): StorageGate {
  const { limits, clock, countInstalls } = deps;
  let stored: ReadonlyMap<string, number> = new Map();
  let freeBytes: number | null = null;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let looking = Promise.resolve();
  const unseen = createUnseen();
  /** What each install had when the disk became short. */
  let hadBefore: ReadonlyMap<string, number> | undefined;

  async function look(): Promise<void> {
    [stored, freeBytes] = await Promise.all([deps.readStored(), deps.readFree()]);
    unseen.turn();
  }

  function lookAgain(now: number): Promise<void> {
    lookedAt = now;
    // What is wrong with the database is told by what is to be stored in it.
    looking = look().catch(() => undefined);
    return looking;
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

  return {
    async check(install, bodyBytes) {
      const now = clock.now().getTime();
      await (Math.abs(now - lookedAt) >= goodForMs ? lookAgain(now) : looking);
      const bytes = bodyBytes + rowOverheadBytes;
      const held = amountOf(stored, install) + amountOf(unseen.byInstall(), install);
      if (held + bytes > limits.storedBytes) return 'stored_bytes';
      if (exceedsShare(install, held, bytes)) return 'disk_reserve';
      unseen.add(install, bytes);
      return undefined;
    },
  };
}

/** What was let through since the look before last: the last may have come before it was stored. */
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
