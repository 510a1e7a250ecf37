import type { Clock } from '../lib/clock.ts';
import type { ScopeStore } from '../usage/read/scope-store.ts';
import { formatTable } from './table.ts';

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

export async function listReadings({
  scopes,
  clock,
}: {
  scopes: Pick<ScopeStore, 'list'>;
  clock: Clock;
}): Promise<ScopeReading[]> {
  const now = clock.now().getTime();
  return (await scopes.list()).map(({ tool, scope, readBeganAt, failure }) => {
    const ageMs = readBeganAt === null ? null : now - Date.parse(readBeganAt);
    const ageSeconds = ageMs === null ? null : Math.max(0, Math.round(ageMs / 1000));
    return { tool, scope, readBeganAt, ageSeconds, failure };
  });
}

export function toAges(readings: readonly ScopeReading[]): string[] {
  if (readings.length === 0) return ['', 'No work was ever read in a tool.'];
  const rows = readings.map(({ tool, scope, readBeganAt, ageSeconds, failure }) => [
    tool,
    scope,
    readBeganAt ?? 'never',
    toAge(ageSeconds),
    failure ?? '',
  ]);
  return ['', 'By these readings:', formatTable(['tool', 'scope', 'read at', 'ago', ''], rows)];
}

function toAge(seconds: number | null): string {
  if (seconds === null) return '';
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}
