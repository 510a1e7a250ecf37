import { z } from 'zod';
import type { OpenapiSchema } from './openapi-schemas.ts';
import type { RequestSchema } from './platform-request-schema.ts';

/** How `openapi.json` describes the requests: by the schemas that validate them. */

export interface Parameter {
  name: string;
  in: 'path' | 'query';
  required: boolean;
  schema: OpenapiSchema;
}

export function describeBody(schema: RequestSchema<unknown>): OpenapiSchema {
  return toOpenapi(schema, 'input');
}

/** What is read as a number is described as one, although it is sent as text. */
export function describeQuery(schema: RequestSchema<unknown>): Parameter[] {
  const { required = [] } = toOpenapi(schema, 'input');
  const { properties = {} } = toOpenapi(schema, 'output');
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema: property,
  }));
}

function toOpenapi(schema: RequestSchema<unknown>, io: 'input' | 'output'): OpenapiSchema {
  const { $schema: _, ...described } = z.toJSONSchema(schema, { io, override: leaveOut });
  return described as OpenapiSchema;
}

/** The pattern of a date, which its format says, and the bounds that every integer has in JavaScript. */
function leaveOut({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}
