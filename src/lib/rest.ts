import { setTimeout as wait } from 'node:timers/promises';

/** Waits, and tells what share of that time this thread had other work: 0 to 1. */
export type Rest = (ms: number, signal: AbortSignal) => Promise<number>;

export const restBesideOthers: Rest = async (ms, signal) => {
  const before = performance.eventLoopUtilization();
  await wait(ms, undefined, { signal });
  return performance.eventLoopUtilization(before).utilization;
};
