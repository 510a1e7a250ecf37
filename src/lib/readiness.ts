import type { Clock } from './clock.ts';

/**
 * Whether deliveries should be sent to this instance now. Both listeners give the same answer.
 */
export interface Readiness {
  /**
   * `draining`: deliveries should go to another instance from now on, but those that come are stored.
   *
   * @throws AppError if a delivery cannot be stored now
   */
  ask(): Promise<'ok' | 'draining'>;
  drain(): void;
}

/** The question is public and costs a write, so an answer is used for a moment. */
const goodForMs = 1000;

export function createReadiness(checkStorage: () => Promise<void>, clock: Clock): Readiness {
  let checkedAt = Number.NEGATIVE_INFINITY;
  let checked: Promise<void> = Promise.resolve();
  let isDraining = false;
  return {
    async ask() {
      if (isDraining) return 'draining';
      const now = clock.now().getTime();
      if (Math.abs(now - checkedAt) >= goodForMs) {
        checkedAt = now;
        checked = checkStorage();
      }
      await checked;
      return 'ok';
    },
    drain() {
      isDraining = true;
    },
  };
}
