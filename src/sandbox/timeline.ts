export type Timeline = ReturnType<typeof createTimeline>;

/** The longest wait of setTimeout. For a later time `wake` is called early, and has to wait again. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * The time on which the marketplace waits before its next attempt. It runs `scale` times as fast as
 * real time, and can be moved forward; at scale 0 it only moves so. Time-outs, signatures and timestamps
 * use real time.
 */
export function createTimeline(scale: number) {
  const startedAtMs = performance.now();
  let movedMs = 0;
  const nowMs = (): number => (performance.now() - startedAtMs) * scale + movedMs;

  return {
    nowMs,
    /** Moves forward to `atMs`, never back. */
    moveTo(atMs: number): void {
      movedMs += Math.max(0, atMs - nowMs());
    },
    /** Calls `wake` once at `atMs` or earlier, never at scale 0. @returns how to cancel */
    wakeAt(atMs: number, wake: () => void): () => void {
      if (scale === 0) return () => {};
      const delayMs = Math.ceil(Math.max(0, atMs - nowMs()) / scale);
      const timer = setTimeout(wake, Math.min(delayMs, longestTimerMs));
      return () => clearTimeout(timer);
    },
  };
}
