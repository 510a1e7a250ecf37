import { z } from 'zod';

/** The JSON Schema of what is sent over the network, before it is read. */
export function toJsonSchema(schema: z.ZodType): Record<string, unknown> {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
}

/** Whether a value has a secret, at any depth. */
export function hasSecret(schema: z.ZodType): boolean {
  return JSON.stringify(toJsonSchema(schema)).includes('"format":"secret"');
}
