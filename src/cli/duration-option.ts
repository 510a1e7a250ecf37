import { InvalidArgumentError, Option } from 'commander';
import { toDurationMs } from '../lib/duration.ts';

/** A duration as the configuration has them, as milliseconds; the help shows it as it is written. */
export function durationOption(flags: string, description: string, preset: string): Option {
  return new Option(flags, description).argParser(toDuration).default(toDuration(preset), preset);
}

/** How long a command waits for what others do. */
export function waitOption(description: string): Option {
  return durationOption('--wait <duration>', description, '60s');
}

function toDuration(value: string): number {
  const ms = toDurationMs(value);
  if (ms === undefined) throw new InvalidArgumentError('a duration such as 30s, 5m, 24h or 7d');
  return ms;
}
