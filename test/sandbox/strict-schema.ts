import { z } from 'zod';
import { schemas } from '../../src/sandbox/openapi-schemas.ts';

/** What a description in `openapi.json` allows, without a field that it does not name. */
export function toStrictSchema(schema: unknown): z.ZodType {
  return z.fromJSONSchema(inline(schema) as Parameters<typeof z.fromJSONSchema>[0]);
}

function inline(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(inline);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $ref, ...rest } = schema as { $ref?: string };
  if ($ref !== undefined) return inline(schemas[$ref.replace('#/components/schemas/', '')]);
  const entries = Object.entries(rest).map(([key, value]) => [key, inline(value)]);
  const closed = 'properties' in rest ? { additionalProperties: false } : {};
  return { ...Object.fromEntries(entries), ...closed };
}
