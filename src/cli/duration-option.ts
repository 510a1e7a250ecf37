import { InvalidArgumentError } from 'commander';

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `30m`, `24h` or `7d`, as milliseconds. */
export function toDurationMs(value: string): number {
  const [, amount, unit] = /^(\d{1,6})([mhd])$/.exec(value) ?? [];
  if (amount === undefined) throw new InvalidArgumentError('a duration such as 30m, 24h or 7d');
  return Number(amount) * unitMs[unit as keyof typeof unitMs];
}

const waitUnitMs = { s: 1000, m: 60_000 };

/** `30s` or `5m`, as milliseconds. */
export function toWaitMs(value: string): number {
  const [, amount, unit] = /^(\d{1,4})([sm])$/.exec(value) ?? [];
  if (amount === undefined) throw new InvalidArgumentError('a duration such as 30s or 5m');
  return Number(amount) * waitUnitMs[unit as keyof typeof waitUnitMs];
}

export const usualWaitMs = 60_000;
