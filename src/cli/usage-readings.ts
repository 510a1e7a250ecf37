import type { ScopeReading } from '../usage/show/list-readings.ts';
import { formatTable } from './table.ts';

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
