import { z } from 'zod';
import { operations as declared } from '../operations/all.ts';
import { splitInput } from '../operations/input.ts';
import type { Operation } from '../operations/operation.ts';

/** An operation as the API takes it: what is in the address, in the query of a read, and in the body of an act. */
export interface Served extends Operation {
  params: z.ZodObject;
  query: z.ZodObject;
  /** Undefined for a read. */
  body: z.ZodType<object> | undefined;
}

const none = z.strictObject({});

/** Everything that the API can do. */
export const operations: readonly Served[] = declared.map((operation) => {
  const { params, rest } = splitInput(operation);
  const isRead = operation.method === 'get';
  return { ...operation, params, query: isRead ? (rest as z.ZodObject) : none, body: isRead ? undefined : rest };
});

/** What requests and answers of all operations have beside their own schemas. */

export const idempotencyKey = z.string().regex(/^[!-~]{1,200}$/);

export const actHeaders = z.object({
  'Idempotency-Key': idempotencyKey
    .optional()
    .describe('The same request with the same key is done once, and gets the same answer for a day.'),
});

export const problem = z
  .object({
    type: z.string().describe('A URI reference that names the kind of problem.'),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string().describe('For a person. It has no secret, address or body.'),
    code: z.string().describe('For a program.'),
  })
  .meta({ id: 'Problem', description: 'Problem details (RFC 9457).' });
