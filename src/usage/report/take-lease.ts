import { randomUUID } from 'node:crypto';
import type { LockStore } from '../../db/lock-store.ts';
import { type Clock, instantIn, toInstant } from '../../lib/clock.ts';

/** Keeps others from sending for some contracts of an install. */
export interface SenderLease {
  /** Those that nobody else has. */
  contractIds: ReadonlySet<string>;
  /** Before each request. @returns false where it has run out: others may have sent since */
  keep(): Promise<boolean>;
  release(): Promise<void>;
}

const leaseMs = 120_000;
/** For one request and all that it waits for. */
const neededMs = 90_000;

export async function takeLease(
  { locks, clock }: { locks: LockStore; clock: Clock },
  install: string,
  contractIds: readonly string[],
): Promise<SenderLease> {
  const token = randomUUID();
  const byName = new Map(
    contractIds.map((contractId) => [`usage:${JSON.stringify([install, contractId])}`, contractId]),
  );
  let leasedUntil = instantIn(clock, leaseMs);
  const held = await locks.holdAll([...byName.keys()], token, toInstant(clock.now()), leasedUntil);
  return {
    contractIds: new Set([...held].flatMap((name) => byName.get(name) ?? [])),

    async keep() {
      const now = toInstant(clock.now());
      if (now >= leasedUntil) return false;
      if (instantIn(clock, neededMs) < leasedUntil) return true;
      const until = instantIn(clock, leaseMs);
      const kept = await locks.holdAll([...held], token, now, until);
      leasedUntil = until;
      return kept.size === held.size;
    },

    release: () => locks.releaseAll([...held], token),
  };
}
