import type { Clock } from './clock.ts';

/** Limits how often the same message is logged, so that the log stays readable and the disk does not fill. */
export interface Quiet {
  /** @returns how many messages were held back since the last one; null to hold this one back */
  letThrough(key: string): number | null;
  /** Lets the next message through, because what the last one said is over. */
  forget(key: string): void;
}

/** One message for each key in `quietMs`. Keys must come from a small set. */
export function createQuiet(clock: Clock, quietMs = 60_000): Quiet {
  const states = new Map<string, { until: number; heldBack: number }>();
  return {
    letThrough(key) {
      const now = clock.now().getTime();
      const state = states.get(key) ?? { until: 0, heldBack: 0 };
      // After the clock was set back, nothing waits for the old time.
      if (now < state.until && now >= state.until - quietMs) {
        state.heldBack += 1;
        return null;
      }
      states.set(key, { until: now + quietMs, heldBack: 0 });
      return state.heldBack;
    },
    forget: (key) => void states.delete(key),
  };
}
