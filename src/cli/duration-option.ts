import { InvalidArgumentError } from 'commander';
import { toDurationMs } from '../lib/duration.ts';

/** A duration as the configuration has them, as milliseconds. */
export function toDuration(value: string): number {
  const ms = toDurationMs(value);
  if (ms === undefined) throw new InvalidArgumentError('a duration such as 30s, 5m, 24h or 7d');
  return ms;
}

export const usualWaitMs = 60_000;
