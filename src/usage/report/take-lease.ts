import { randomUUID } from 'node:crypto';
import type { LockStore } from '../../db/lock-store.ts';
import { type Clock, instantIn, toInstant } from '../../lib/clock.ts';

/** Keeps other senders from some contracts of an install. */
export interface SenderLease {
  /** The contracts that no other sender has. */
  contractIds: ReadonlySet<string>;
  /** To be called before each request. @returns false where the lease has run out and others may have sent */
  keep(): Promise<boolean>;
  release(): Promise<void>;
}

const leaseMs = 120_000;
/** Long enough for one request and all its waits. */
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
