import { InvalidArgumentError } from 'commander';

/** A whole number from 1 to 100,000. */
export function toCount(value: string): number {
  const count = Number(value);
  if (!/^\d+$/.test(value) || count < 1 || count > 100_000) {
    throw new InvalidArgumentError('a whole number from 1 to 100000');
  }
  return count;
}
