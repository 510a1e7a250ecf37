import type { Clock } from './clock.ts';

export type Quiet = ReturnType<typeof createQuiet>;

/**
 * Lets one message of a key through in `quietMs`, so that the log stays readable and the disk does not fill. Keys must come
 * from a small set.
 */
export function createQuiet(clock: Clock, quietMs = 60_000) {
  const states = new Map<string, { until: number; heldBack: number }>();
  return {
    /** @returns how many messages were held back since the last one; null to hold this one back */
    letThrough(key: string): number | null {
      const now = clock.now().getTime();
      const state = states.get(key) ?? { until: 0, heldBack: 0 };
      // After the clock was set back, nothing waits until the old time.
      if (now < state.until && now >= state.until - quietMs) {
        state.heldBack += 1;
        return null;
      }
      states.set(key, { until: now + quietMs, heldBack: 0 });
      return state.heldBack;
    },
    /** Lets the next message through, because the last one is no longer true. */
    forget: (key: string) => void states.delete(key),
  };
}
