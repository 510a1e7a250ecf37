import { InvalidArgumentError } from 'commander';

/** A whole number from 1 to 100,000. */
export function toCount(value: string): number {
  return toNumberUpTo(100_000, value);
}

/** How many made-up people a tool is asked to take: 2 to 2,000. */
export function toCrowd(value: string): number {
  return toNumberUpTo(2000, value, 2);
}

/** The number of a row, of which there may be many. */
export function toRowNumber(value: string): number {
  return toNumberUpTo(Number.MAX_SAFE_INTEGER, value);
}

function toNumberUpTo(greatest: number, value: string, least = 1): number {
  const number = Number(value);
  if (/^\d+$/.test(value) && number >= least && number <= greatest) return number;
  throw new InvalidArgumentError(`a whole number from ${least} to ${greatest}`);
}
