import type { Clock } from './clock.ts';

/** Anybody may ask and each check is a write, so an answer is used for a moment. */
const goodForMs = 1000;

export type Readiness = ReturnType<typeof createReadiness>;

/** Whether deliveries should be sent to this instance. Both listeners give the same answer. */
export function createReadiness(checkStorage: () => Promise<void>, clock: Clock) {
  let checkedAt = Number.NEGATIVE_INFINITY;
  let checked: Promise<void> = Promise.resolve();
  let isDraining = false;
  return {
    /**
     * `draining`: deliveries should go to another instance, but those that come are stored.
     *
     * @throws AppError if no delivery can be stored now
     */
    async ask(): Promise<'ok' | 'draining'> {
      if (isDraining) return 'draining';
      const now = clock.now().getTime();
      if (Math.abs(now - checkedAt) >= goodForMs) {
        checkedAt = now;
        checked = checkStorage();
      }
      await checked;
      return 'ok';
    },
    drain(): void {
      isDraining = true;
    },
  };
}
