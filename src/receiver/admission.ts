import type { DeferralReason } from './deferral-log.ts';
import type { RateLimit } from './rate-limit.ts';
import type { StorageGate } from './storage-gate.ts';

/**
 * What keeps one install from taking what is there for all. Asked only after the signature was
 * found right: a stranger must not use up what an install may have.
 */
export interface Admission {
  /** @returns why a delivery is to come again later; undefined where it may be stored now */
  check(install: string, bodyBytes: number): Promise<Deferral | undefined>;
}

export interface Deferral {
  reason: DeferralReason;
  /** For whoever sent it. */
  message: string;
  retryAfterMs: number;
}

const tooFast = 'More deliveries have come than are taken in so short a time';
/** What is stored is purged every ten minutes, where there is something to purge. */
const storageFull = {
  message: 'No more can be stored for this install now',
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
