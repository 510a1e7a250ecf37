import { z } from 'zod';
import { components } from './platform-answer-schema.ts';
import type { RequestSchema } from './platform-request-schema.ts';

/** JSON Schema. */
export type Described = Record<string, unknown>;

export interface Parameter {
  name: string;
  in: 'path' | 'query';
  required: boolean;
  schema: Described;
}

/** @param named receives the components that the description refers to */
export function describeSchema(schema: RequestSchema<unknown>, named: Described, io: 'input' | 'output' = 'input') {
  const made = z.toJSONSchema(schema, { io, metadata: components, override: leaveOut });
  const { $schema: _, $defs, ...described } = JSON.parse(JSON.stringify(made), toReference) as Described;
  Object.assign(named, $defs);
  return described;
}

/** A text that is read as a number is described as a number. */
export function describeQuery(schema: RequestSchema<unknown>): Parameter[] {
  const { required = [] } = describeSchema(schema, {}) as { required?: string[] };
  const { properties } = describeSchema(schema, {}, 'output') as { properties: Record<string, Described> };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema: property,
  }));
}

function toReference(key: string, value: unknown): unknown {
  return key === '$ref' ? String(value).replace('#/$defs/', '#/components/schemas/') : value;
}

/** Omits the pattern of a date, which its format implies, and the bounds that every integer has in JavaScript. */
function leaveOut({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}
