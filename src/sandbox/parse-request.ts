import { z } from 'zod';
import { methodOf, type Operation } from '../marketplace/contract/operation.ts';
import type * as wants from './control-request-schema.ts';
import { Refusal } from './error-response.ts';

/** Unknown fields are ignored, unless the operation is strict. @throws Refusal `invalid` that names each field */
export function parseRequest({ in: schema, isStrict, aliases, ...operation }: Operation, sent: unknown): object {
  const isQuery = ['GET', 'DELETE'].includes(methodOf(operation));
  const read = isQuery ? readQuery(schema, sent as Record<string, unknown>) : sent;
  const result = schema.safeParse(aliases === undefined ? read : rename(read, aliases));
  if (result.success) return result.data;
  const [name = 'body', inner] = result.error.issues[0]?.path ?? [];
  // The type of the source of a draft is another name for its format.
  const field = inner === 'type' ? 'format' : String(name);
  const details = isStrict ? z.flattenError(result.error) : { field, ...supported(schema, field) };
  throw new Refusal('invalid', sayIssues(result.error), { ...details, issues: toIssues(result.error) });
}

/** A field wins over another name of it. */
function rename(sent: unknown, aliases: Record<string, string>): unknown {
  if (typeof sent !== 'object' || sent === null) return sent;
  const renamed = Object.entries(sent).map(([name, value]) => [aliases[name] ?? name, value]);
  return { ...Object.fromEntries(renamed), ...sent };
}

/** What a caller of a control gives, by the name of its schema. */
export type Wanted<Name extends keyof typeof wants> = z.input<(typeof wants)[Name]>;

export type ControlSchema<T> = z.ZodType<T>;

/** The same for a control. */
export function parseControl<T>(schema: ControlSchema<T>, sent: unknown): T {
  const result = schema.safeParse(sent);
  if (result.success) return result.data;
  throw new Refusal('invalid', sayIssues(result.error), { issues: toIssues(result.error) });
}

function toIssues({ issues }: z.ZodError) {
  return issues.map(({ path, message }) => ({ path: path.join('.'), message }));
}

function sayIssues(error: z.ZodError): string {
  return toIssues(error)
    .map(({ path, message }) => `${path || 'body'}: ${message}`)
    .join('; ');
}

/** A query is text. What does not fit stays text, so that the schema refuses it. */
function readQuery({ shape }: z.ZodObject, query: Record<string, unknown>): Record<string, unknown> {
  const read = ([name, text]: [string, unknown]): [string, unknown] => [name, readText(shape[name] as z.ZodType, text)];
  return Object.fromEntries(Object.entries(query).map(read));
}

function readText(schema: z.ZodType | undefined, text: unknown): unknown {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodArray) return [text].flat().flatMap((one) => String(one).split(','));
  if (inner instanceof z.ZodNumber && /^\d+$/.test(String(text))) return Number(text);
  if (inner instanceof z.ZodBoolean && /^(true|false)$/.test(String(text))) return text === 'true';
  return text;
}

function unwrap(schema: unknown): unknown {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable ? unwrap(schema.unwrap()) : schema;
}

/** The allowed words of a field: `supportedEventTypes`. */
function supported({ shape }: z.ZodObject, field: string): object {
  const inner = unwrap(shape[field]);
  const word = inner instanceof z.ZodArray ? inner.element : inner;
  if (!(word instanceof z.ZodEnum)) return {};
  return { [`supported${field[0]?.toUpperCase()}${field.slice(1).replace(/s?$/, 's')}`]: word.options };
}
