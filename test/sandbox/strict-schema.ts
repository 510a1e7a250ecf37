import { z } from 'zod';

interface Document {
  components: { schemas: Record<string, unknown> };
}

/** What a description in `openapi.json` allows, without a field that it does not name. */
export function toStrictSchema(schema: unknown, { components }: Document): z.ZodType {
  return z.fromJSONSchema(inline(schema, components.schemas) as Parameters<typeof z.fromJSONSchema>[0]);
}

function inline(schema: unknown, named: Record<string, unknown>): unknown {
  if (Array.isArray(schema)) return schema.map((one) => inline(one, named));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $ref, ...rest } = schema as { $ref?: string };
  if ($ref !== undefined) return inline(named[$ref.replace('#/components/schemas/', '')], named);
  const entries = Object.entries(rest).map(([key, value]) => [key, inline(value, named)]);
  const closed = 'properties' in rest ? { additionalProperties: false } : {};
  return { ...Object.fromEntries(entries), ...closed };
}
