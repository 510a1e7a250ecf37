import { InvalidArgumentError } from 'commander';
import type { TextRule } from '../config/text-rules.ts';
import { toDurationMs } from '../lib/units.ts';

/** An option or an argument. The name of an option is its key in the command: `dryRun` is `--dry-run`. */
export interface Input<Value> {
  description: string;
  /** The value in the help, such as `<file>` or `[install]`; a flag has none. */
  term?: string;
  /** The value of an option that is not written. */
  absent: Value;
  /** Whether the help names `absent` as the default. */
  isDefault?: true;
  /** The default in the help, if it is not `absent`. */
  shown?: string;
  /** The only possible values. */
  choices?: readonly Value[];
  /** @param before the result of earlier values of the same option */
  parse?(text: string, before: Value): Value;
}

export type Inputs = Record<string, Input<unknown>>;

/** The values that these inputs give. */
export type ValuesOf<Given extends Inputs> = {
  [Name in keyof Given]: Given[Name] extends Input<infer Value> ? Value : never;
};

/** The same with what every command takes. */
export type GivenOf<Given extends Inputs> = ValuesOf<Given> & { json: boolean };

type Parse<Value> = (text: string) => Value;

export function flag(description: string): Input<boolean> {
  return { description, absent: false };
}

export function option(term: string, description: string): Input<string | undefined>;
export function option<Value>(term: string, description: string, parse: Parse<Value>): Input<Value | undefined>;
export function option<Value>(term: string, description: string, parse?: Parse<Value>): Input<unknown> {
  return { term, description, absent: undefined, ...(parse && { parse }) };
}

/** An option, or an argument in brackets, with a default. */
export function withDefault(term: string, description: string, preset: string, parse?: Parse<string>): Input<string>;
export function withDefault(term: string, description: string, preset: number, parse: Parse<number>): Input<number>;
export function withDefault(
  term: string,
  description: string,
  preset: unknown,
  parse?: Parse<unknown>,
): Input<unknown> {
  return { term, description, absent: preset, isDefault: true, ...(parse && { parse }) };
}

/** An option that may be written several times. */
export function repeatedOption(term: string, description: string, parse?: Parse<string>): Input<string[]> {
  return { term, description, absent: [], parse: (text, before) => [...before, parse?.(text) ?? text] };
}

/** A text. In brackets, it may be left out. */
export function argument(term: `<${string}>`, description: string): Input<string>;
export function argument(term: `[${string}]`, description: string): Input<string | undefined>;
export function argument(term: string, description: string): Input<unknown> {
  return { term, description, absent: undefined };
}

/** An argument that is one of a few words. */
export function oneOf<const Value extends string>(
  term: `<${string}>`,
  description: string,
  choices: readonly Value[],
): Input<Value> {
  // The argument is required.
  return { term, description, absent: choices[0] as Value, choices };
}

/** How many milliseconds a command waits for others. */
export function wait(description: string): Input<number> {
  return { term: '<duration>', description, absent: 60_000, isDefault: true, shown: '60s', parse: toDuration };
}

export function toDuration(text: string): number {
  const ms = toDurationMs(text);
  if (ms === undefined) throw new InvalidArgumentError('a duration such as 30s, 5m, 24h or 7d');
  return ms;
}

export function keepsTo({ pattern, says }: TextRule): Parse<string> {
  return (text) => {
    if (pattern.test(text)) return text;
    throw new InvalidArgumentError(`"${text}": ${says}`);
  };
}

export function toWholeNumber(text: string, least: number, greatest: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= least && number <= greatest) return number;
  throw new InvalidArgumentError(`a whole number from ${least} to ${greatest}`);
}

/** A number from 0 upwards. */
export function toAmount(text: string): number {
  const number = Number(text);
  if (text.trim() !== '' && Number.isFinite(number) && number >= 0) return number;
  throw new InvalidArgumentError('a number from 0 upwards is needed');
}

/** The part of an email address after the `@`. */
export function toDomain(text: string): string {
  if (/^[a-z\d-]+(\.[a-z\d-]+)+$/i.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError('a domain such as example.com');
}
