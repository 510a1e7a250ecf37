import type { Storage } from '../../keys/storage.ts';
import type { Clock } from '../../lib/clock.ts';
import { listScopes } from '../read/scope-store.ts';

/** How old the last reading of the work in a scope is. */
export interface ScopeReading {
  tool: string;
  scope: string;
  /** When the last finished reading began; null if there was none. */
  readBeganAt: string | null;
  ageSeconds: number | null;
  /** Why the scope could not be read since. */
  failure: string | null;
}

export async function listReadings(ctx: Storage & { clock: Clock }): Promise<ScopeReading[]> {
  const now = ctx.clock.now().getTime();
  return (await listScopes(ctx)).map(({ tool, scope, readBeganAt, failure }) => {
    const ageMs = readBeganAt === null ? null : now - Date.parse(readBeganAt);
    const ageSeconds = ageMs === null ? null : Math.max(0, Math.round(ageMs / 1000));
    return { tool, scope, readBeganAt, ageSeconds, failure };
  });
}
