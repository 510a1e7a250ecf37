import type { Clock } from './clock.ts';

/** Keeps a log readable, and a disk from filling, when the same thing happens again and again. */
export interface Quiet {
  /** @returns how often the key was held back since its last line, or null to hold this one back */
  letThrough(key: string): number | null;
}

/** One line per key and minute, or whatever time is given. Keys must come from a small set. */
export function createQuiet(clock: Clock, quietMs = 60_000): Quiet {
  const states = new Map<string, { until: number; heldBack: number }>();
  return {
    letThrough(key) {
      const now = clock.now().getTime();
      const state = states.get(key) ?? { until: 0, heldBack: 0 };
      // Where the clock was set back, nothing waits for the time it had.
      if (now < state.until && now >= state.until - quietMs) {
        state.heldBack += 1;
        return null;
      }
      states.set(key, { until: now + quietMs, heldBack: 0 });
      return state.heldBack;
    },
  };
}
