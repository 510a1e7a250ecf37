import { type Counts, countNames } from '../../domain/usage.ts';
import { sayCount } from '../../lib/say-count.ts';

/** Counts of work as people read them. */

export function describeCounts(counts: Counts | null): string {
  if (counts === null || countNames.every((name) => counts[name] === null)) return 'nothing';
  return countNames.flatMap((name) => (counts[name] === null ? [] : [describeCount(name, counts[name])])).join(', ');
}

export function describeCount(name: keyof Counts, count: number): string {
  if (name !== 'seconds') return sayCount(count, name === 'tasks' ? 'task' : 'label');
  return count < 3600 ? `${round(count / 60)} min` : `${round(count / 3600)} h`;
}

/** In the unit of a chart: hours, for seconds. */
export function toCharted(name: keyof Counts, count: number | null): number | null {
  return count === null || name !== 'seconds' ? count : count / 3600;
}

export function describeCharted(name: keyof Counts): (value: number) => string {
  return (value) => `${Math.round(value * 100) / 100} ${name === 'seconds' ? 'h' : name}`;
}

/** To a tenth, but never to nothing. */
function round(value: number): string {
  const rounded = Math.round(value * 10) / 10;
  return value > 0 && rounded === 0 ? '< 0.1' : String(rounded);
}
