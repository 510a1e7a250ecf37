import { z } from 'zod';

/** What the schemas of several operations are made of. */

/** A whole number in an address. It is written in digits alone, so that each number has one writing. */
export function wholeNumber(minimum: number, maximum: number) {
  return z
    .string()
    .regex(/^(0|[1-9]\d{0,14})$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, `must be from ${minimum} to ${maximum}`)
    .meta({ override: { type: 'integer', minimum, maximum } });
}

/** The number of a row. */
export const rowNumber = wholeNumber(1, 999_999_999_999_999);

/** A name, an id or a part of one. No id has control characters, and a database may refuse them. */
export const text = z
  .string()
  .min(1)
  .max(500)
  .refine((value) => !/\p{Cc}/u.test(value) && value.isWellFormed(), 'must not contain control characters')
  // The same for programs, some of which know no classes of characters.
  .meta({ pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$' });

export const flag = z.enum(['true', 'false']).transform((value) => value === 'true');

export const day = z.iso.date().describe('Such as 2026-03-15.');

/** The part of a query that all lists have. */
export const paging = {
  limit: wholeNumber(1, 500).optional().describe('How many items at most; 100 without it.'),
  cursor: z
    .string()
    .min(1)
    .max(2000)
    .optional()
    .describe('What the page before gave as `next`. Opaque; it belongs to this list.'),
};

export function pageSchema<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item),
    next: z.string().nullable().describe('The cursor of the next page; null on the last.'),
  });
}

export const instant = z.iso.datetime().describe('In UTC, such as 2026-03-15T10:00:00.000Z.');
export const maybeInstant = instant.nullable();
export const maybeText = z.string().nullable();
export const count = z.int().min(0);

export const idempotencyKey = z.string().regex(/^[!-~]{1,200}$/);

export const actHeaders = z.object({
  'Idempotency-Key': idempotencyKey
    .optional()
    .describe('The same request with the same key is done once, and gets the same answer for a day.'),
});

export const contractParams = z.strictObject({ contract: text });

export const problem = z
  .object({
    type: z.string().describe('A URI reference that names the kind of problem.'),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string().describe('For a person. It has no secret, address or body.'),
    code: z.string().describe('For a program.'),
  })
  .meta({ id: 'Problem', description: 'Problem details (RFC 9457).' });
