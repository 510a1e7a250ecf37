import { InvalidArgumentError } from 'commander';

/** A whole number from 1 to 100,000. */
export function toCount(value: string): number {
  return toNumberUpTo(100_000, value);
}

/** The number of a row, of which there may be many. */
export function toRowNumber(value: string): number {
  return toNumberUpTo(Number.MAX_SAFE_INTEGER, value);
}

function toNumberUpTo(greatest: number, value: string): number {
  const number = Number(value);
  if (/^\d+$/.test(value) && number >= 1 && number <= greatest) return number;
  throw new InvalidArgumentError(`a whole number from 1 to ${greatest}`);
}
