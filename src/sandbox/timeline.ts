/**
 * The time in which the marketplace waits before it tries again: `scale` times as fast as real
 * time, and movable by hand. At scale 0 it stands still until it is moved. Nothing else is scaled:
 * time-outs, signatures and timestamps are real.
 */
export interface Timeline {
  nowMs(): number;
  /** Moves on to `atMs`, or stays where it is when that has passed. */
  moveTo(atMs: number): void;
  /** Calls `wake` once, at or after `atMs`, or never when time stands still. Returns how to cancel. */
  wakeAt(atMs: number, wake: () => void): () => void;
}

/** What setTimeout can hold; who is woken early looks again and sleeps on. */
const longestTimerMs = 2 ** 31 - 1;

export function createTimeline(scale: number): Timeline {
  const startedAtMs = performance.now();
  let movedMs = 0;
  const nowMs = (): number => (performance.now() - startedAtMs) * scale + movedMs;

  return {
    nowMs,
    moveTo(atMs) {
      movedMs += Math.max(0, atMs - nowMs());
    },
    wakeAt(atMs, wake) {
      if (scale === 0) return () => {};
      const delayMs = Math.ceil(Math.max(0, atMs - nowMs()) / scale);
      const timer = setTimeout(wake, Math.min(delayMs, longestTimerMs));
      return () => clearTimeout(timer);
    },
  };
}
