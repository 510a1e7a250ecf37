import { z } from 'zod';

/** What a description in `openapi.json` allows, without a field that it does not name, unless it allows any. */
export function toStrictSchema(schema: unknown): z.ZodType {
  return z.fromJSONSchema(close(schema) as Parameters<typeof z.fromJSONSchema>[0]);
}

function close(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(close);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(([key, value]) => [key, close(value)]);
  return { ...('properties' in schema && { additionalProperties: false }), ...Object.fromEntries(entries) };
}
