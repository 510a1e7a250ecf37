export interface Slots {
  /** How many calls the tool keeps up with at present. */
  pace: number;
  /** How many calls it may ever get at once. */
  max: number;
  /** Whether several installs are connected to the tool. */
  isShared: boolean;
}

/**
 * Installs take turns in a tool. The install with the fewest running calls is next, and while others wait no install
 * gets more than half of the slots. In a shared tool half of them stay free for others also while no other waits,
 * because calls that hang are not given back. What one install runs beyond its half takes no slot from the others, and
 * two installs always have a slot each, however slow the tool is. Pure.
 *
 * @param waiting installs with work that is due; of two with the same number of calls, the first is next
 * @param underway the number of running calls of each install
 * @returns how many calls each install may begin
 */
export function shareSlots(
  waiting: readonly string[],
  underway: ReadonlyMap<string, number>,
  { pace, max, isShared }: Slots,
): Map<string, number> {
  const isContested = new Set([...waiting, ...underway.keys()]).size > 1;
  const slots = isContested ? Math.min(max, Math.max(pace, 2)) : pace;
  const most = isContested ? atLeastOne(slots / 2) : Math.min(slots, isShared ? atLeastOne(max / 2) : max);
  const counts = new Map(waiting.map((install) => [install, underway.get(install) ?? 0]));
  const shares = new Map<string, number>();
  const running = [...underway.values()];
  const taken = sum(running.map((count) => Math.min(count, most)));
  for (let free = Math.min(slots - taken, max - sum(running)); free > 0; free -= 1) {
    const [next] = [...counts].filter(([, count]) => count < most).sort(([, a], [, b]) => a - b);
    if (next === undefined) break;
    const [install, count] = next;
    counts.set(install, count + 1);
    shares.set(install, (shares.get(install) ?? 0) + 1);
  }
  return shares;
}

function atLeastOne(count: number): number {
  return Math.max(1, Math.floor(count));
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

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

interface PaceLimits {
  /** The upper limit, however quick the tool is. */
  maxAtOnce: number;
  quickMs: number;
}

export const firstPace: Pace = { atOnce: 1, slowedAtMs: Number.NEGATIVE_INFINITY };

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
