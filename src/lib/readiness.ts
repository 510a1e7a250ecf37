import type { Clock } from './clock.ts';

/**
 * Whether a delivery that comes now is to come here. It says the same to whoever asks, on whichever
 * listener.
 */
export interface Readiness {
  /**
   * `draining`: deliveries are to go elsewhere from now on; those that come are stored all the same.
   *
   * @throws AppError where one could not be stored now
   */
  ask(): Promise<'ok' | 'draining'>;
  drain(): void;
}

/** Anybody may ask and asking costs a write, so an answer is good for a moment. */
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
