import type { Instant } from './evidence.ts';

/** A process that receives and provisions, as it is seen from another one. */
export interface Instance {
  id: string;
  /** Of its machine. */
  name: string;
  version: string;
  startedAt: Instant;
  /** When it was alive last, by the database's clock. */
  beatAt: Instant;
  /** When it ended in peace. */
  stoppedAt: Instant | null;
}

/** How often a running one says that it is alive. */
export const beatEveryMs = 10_000;
/** After so long without a word it counts as gone: what a busy machine may take, and the leases do. */
const silentAfterMs = 30_000;
/** So long it is remembered that one was there; the last of all until another comes. */
export const keepForMs = 86_400_000;

/** Pure: whether it says so still. */
export function isInstanceRunning({ beatAt, stoppedAt }: Instance, now: Date): boolean {
  return stoppedAt === null && now.getTime() - Date.parse(beatAt) < silentAfterMs;
}

/** Since when nothing runs; null while something does, and where nothing ever has. */
export function silentSince(instances: readonly Instance[], now: Date): Instant | null {
  if (instances.some((instance) => isInstanceRunning(instance, now))) return null;
  const ends = instances.map(({ beatAt, stoppedAt }) => stoppedAt ?? beatAt);
  return ends.sort().at(-1) ?? null;
}
