import { z } from 'zod';

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
