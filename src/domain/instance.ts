import type { Instant } from './evidence.ts';

/** A process that receives and provisions, as another process sees it. */
export interface Instance {
  id: string;
  /** The name of its machine. */
  name: string;
  version: string;
  startedAt: Instant;
  /** The last heartbeat, by the database's clock. */
  beatAt: Instant;
  /** When it stopped in order. */
  stoppedAt: Instant | null;
}

/** How often a running instance writes a heartbeat. */
export const beatEveryMs = 10_000;
/**
 * Without a heartbeat for this long an instance counts as gone. A busy machine may pause this long, and leases expire
 * after it too.
 */
const silentAfterMs = 30_000;
/** How long a stopped instance stays listed. The last one stays until another starts. */
export const keepForMs = 86_400_000;

/** Whether the instance still writes heartbeats. Pure. */
export function isInstanceRunning({ beatAt, stoppedAt }: Instance, now: Date): boolean {
  return stoppedAt === null && now.getTime() - Date.parse(beatAt) < silentAfterMs;
}

/** Since when no instance runs. Null while one runs, or if none ever has. */
export function silentSince(instances: readonly Instance[], now: Date): Instant | null {
  if (instances.some((instance) => isInstanceRunning(instance, now))) return null;
  const ends = instances.map(({ beatAt, stoppedAt }) => stoppedAt ?? beatAt);
  return ends.sort().at(-1) ?? null;
}
