import type { DeferralReason } from './deferral-log.ts';
import type { RateLimit } from './rate-limit.ts';
import type { StorageGate } from './storage-gate.ts';

/**
 * Keeps one install from using the capacity of the others. It is asked only after the signature was
 * verified, because a stranger must not use up what an install may have.
 */
export interface Admission {
  /** @returns why the delivery is deferred; undefined if it may be stored now */
  check(install: string, bodyBytes: number): Promise<Deferral | undefined>;
}

export interface Deferral {
  reason: DeferralReason;
  /** For the sender. */
  message: string;
  retryAfterMs: number;
}

const tooFast = 'There were too many deliveries in a short time';
/** The purge runs every ten minutes. */
const storageFull = {
  message: 'No more deliveries can be stored for this install now',
  retryAfterMs: 600_000,
};

export function createAdmission(rates: RateLimit, storage: StorageGate): Admission {
  return {
    async check(install, bodyBytes) {
      const retryAfterMs = rates.take(install, bodyBytes);
      if (retryAfterMs > 0) return { reason: 'rate', message: tooFast, retryAfterMs };
      const reason = await storage.check(install, bodyBytes);
      return reason === undefined ? undefined : { reason, ...storageFull };
    },
  };
}
