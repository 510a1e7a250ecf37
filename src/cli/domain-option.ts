import { InvalidArgumentError } from 'commander';

/** The part of an address after the `@`. */
export function toDomain(value: string): string {
  if (/^[a-z\d-]+(\.[a-z\d-]+)+$/i.test(value)) return value.toLowerCase();
  throw new InvalidArgumentError('a domain such as example.com');
}
