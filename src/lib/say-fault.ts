import { sayCount } from './text.ts';

/** The part of a zod issue that is used here. */
interface Fault {
  code?: string | undefined;
  input?: unknown;
  expected?: unknown;
  values?: unknown;
  origin?: unknown;
  minimum?: unknown;
  maximum?: unknown;
  format?: unknown;
  keys?: unknown;
}

const formats: Readonly<Record<string, string>> = {
  date: 'must be a day such as 2026-03-15',
  datetime: 'must be an instant such as 2026-03-15T12:00:00Z',
  email: 'must be an email address',
  url: 'must be a URL',
};

const types: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'an object',
  record: 'an object',
  string: 'a text',
};

/** What is wrong with an input or a setting. A schema's own message comes before this one. */
export function sayFault({ code, input, expected, values, origin, ...issue }: Fault): string | undefined {
  const isMissing = input === undefined;
  switch (code) {
    case 'invalid_type':
      return isMissing ? 'is required' : `must be ${types[String(expected)] ?? `a ${expected}`}`;
    case 'invalid_value':
      return isMissing ? 'is required' : `must be ${sayChoices(values as unknown[])}`;
    case 'too_small':
      return sayLimit(origin, 'at least', issue.minimum);
    case 'too_big':
      return sayLimit(origin, 'at most', issue.maximum);
    case 'invalid_format':
      return formats[String(issue.format)] ?? 'is not valid';
    case 'unrecognized_keys':
      return `unknown key: ${(issue.keys as string[]).join(', ')}`;
    default:
      return undefined;
  }
}

function sayChoices(values: readonly unknown[]): string {
  return `${values.length === 1 ? '' : 'one of: '}${values.map(String).join(', ')}`;
}

function sayLimit(origin: unknown, how: string, limit: unknown): string {
  const unit = { string: 'character', array: 'item' }[String(origin)];
  return unit === undefined ? `must be ${how} ${limit}` : `must have ${how} ${sayCount(Number(limit), unit)}`;
}
