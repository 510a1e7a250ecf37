/** A batch of intake, and what it competes with. */
export interface TakenTime {
  tookMs: number;
  /** Whether requests are probably queueing to be stored. */
  isCrowded: boolean;
  /** What others used of the thread while intake rested lately: 0 to 1. */
  usedByOthers: number;
  /** Whether intake has lagged, and has not caught up yet. */
  isBehind: boolean;
}

/**
 * After a batch that takes longer than this, intake pauses for the same time so that other work gets the database.
 * Otherwise a hire would wait for a batch at each of its many steps.
 */
const pauseAfterMs = 4;
const maxPauseMs = 50;
/**
 * While requests are queueing, the pause is so many times as long, multiplied by what others use of the thread to what
 * they leave. Where they use more than half of it, intake takes a twentieth of the time: it still makes progress, and
 * the receiver is hardly slower. A slow disk alone is no reason: the thread has nothing else to do while a commit waits
 * for it, and stored deliveries would pile up.
 */
const crowdedFactor = 12;
const maxCrowdedFactor = 19;
const maxCrowdedMs = 500;
/**
 * A burst is answered first. A flood that lasts does not keep people waiting: once something has been stored for longer
 * than this, intake takes a third of the time until nothing queues any more. Else it could lag for as long as deliveries
 * come, even where a thread with some other work could do both.
 */
const longestWaitMs = 5000;
const overdueFactor = 2;

/** Pure: for how many milliseconds intake lets others work. */
export function decideRest({ tookMs, isCrowded, usedByOthers, isBehind }: TakenTime): number {
  const pauseMs = Math.min(tookMs, maxPauseMs);
  if (!isCrowded) return tookMs > pauseAfterMs ? pauseMs : 0;
  const most = isBehind ? overdueFactor : maxCrowdedFactor;
  const factor = Math.min((crowdedFactor * usedByOthers) / (1 - usedByOthers), most);
  return Math.max(pauseMs, Math.min(tookMs * factor, maxCrowdedMs));
}

/** Pure: whether intake is behind after a batch, the oldest delivery of which had been stored for so long. */
export function isStillBehind(wasBehind: boolean, isCrowded: boolean, waitedMs: number): boolean {
  return isCrowded && (wasBehind || waitedMs > longestWaitMs);
}
