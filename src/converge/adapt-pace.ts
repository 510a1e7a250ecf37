/**
 * How much is asked of a tool at once (additive increase, multiplicative decrease): begins with one,
 * one more for each round that is answered quickly, and half as much when an answer does not come. A
 * tool that is out of breath gets through more that way: what it answers too late was done for nothing.
 */
export interface Pace {
  /** Memberships at once; whole ones count. */
  atOnce: number;
  /** When it was halved last. What was begun before that has nothing new to say. */
  slowedAtMs: number;
}

/** One membership that was worked on. Instants by one clock. */
export interface PaceSample {
  begunAtMs: number;
  endedAtMs: number;
  /** Whether the tool did not answer, or said that it has too much to do. */
  isUnanswered: boolean;
  /** Whether as many as allowed were under way when it began: else it says nothing of more. */
  isFull: boolean;
}

export interface PaceLimits {
  /** However quick the tool is. */
  maxAtOnce: number;
  quickMs: number;
}

export const firstPace: Pace = { atOnce: 1, slowedAtMs: Number.NEGATIVE_INFINITY };

/** Pure. */
export function adaptPace(pace: Pace, trip: PaceSample, { maxAtOnce, quickMs }: PaceLimits): Pace {
  if (trip.begunAtMs < pace.slowedAtMs) return pace;
  if (trip.isUnanswered) {
    return { atOnce: Math.max(1, Math.floor(pace.atOnce) / 2), slowedAtMs: trip.endedAtMs };
  }
  const isQuick = trip.endedAtMs - trip.begunAtMs <= quickMs;
  if (!isQuick || !trip.isFull) return pace;
  return { ...pace, atOnce: Math.min(maxAtOnce, pace.atOnce + 1 / Math.floor(pace.atOnce)) };
}

/** Whole memberships. */
export function slotsOf({ atOnce }: Pace): number {
  return Math.floor(atOnce);
}
