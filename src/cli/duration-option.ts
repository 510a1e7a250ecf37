import { InvalidArgumentError } from 'commander';

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `30m`, `24h` or `7d`, as milliseconds. */
export function toDurationMs(value: string): number {
  const [, amount, unit] = /^(\d{1,6})([mhd])$/.exec(value) ?? [];
  if (amount === undefined) throw new InvalidArgumentError('a duration such as 30m, 24h or 7d');
  return Number(amount) * unitMs[unit as keyof typeof unitMs];
}
