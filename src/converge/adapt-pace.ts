/**
 * How many calls a tool gets at once (additive increase, multiplicative decrease). It begins with one, adds one for
 * each round of quick answers, and halves when an answer does not come. An overloaded tool does more that way, because
 * late answers are wasted work.
 */
export interface Pace {
  /** Memberships at once. Only whole ones count. */
  atOnce: number;
  /** When it was halved last. Samples that began before that are ignored. */
  slowedAtMs: number;
}

/** The times of one membership's calls, by one clock. */
export interface PaceSample {
  begunAtMs: number;
  endedAtMs: number;
  /** Whether the tool did not answer, or said that it is overloaded. */
  isUnanswered: boolean;
  /** Whether all slots were in use when it began. Otherwise it does not show that more would work. */
  isFull: boolean;
}

export interface PaceLimits {
  /** The upper limit, however quick the tool is. */
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

/** The number of memberships that may be worked on at once. */
export function slotsOf({ atOnce }: Pace): number {
  return Math.floor(atOnce);
}
