import { z } from 'zod';
import { planStates } from '../domain/brake.ts';
import { AppError } from '../domain/errors.ts';

/** Parts of the inputs and answers of several operations. */

/** A name, an id or a part of one. No id has control characters, and a database may refuse them. */
export const text = z
  .string()
  .min(1)
  .max(500)
  .refine((value) => !/\p{Cc}/u.test(value) && value.isWellFormed(), 'must not contain control characters')
  // The same for programs, some of which know no classes of characters.
  .meta({ pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$' });

export const rowNumber = z.int().min(1).max(999_999_999_999_999);

export const day = z.iso.date().describe('Such as 2026-03-15.');

export const instant = z.iso.datetime().describe('In UTC, such as 2026-03-15T10:00:00.000Z.');
export const maybeInstant = instant.nullable();
export const maybeText = z.string().nullable();
export const count = z.int().min(0);

/** Of a run. */
export const outcome = z.enum(['clean', 'applied', 'pending', 'held', 'failed']);
export const runCounts = { added: count, removed: count, held: count, failed: count };

/** An object that has a name of its own in the API's document. */
export function named<Shape extends z.ZodRawShape>(id: string | { id: string; description: string }, shape: Shape) {
  return z.object(shape).meta(typeof id === 'string' ? { id } : id);
}

export function flag(description: string) {
  return z.boolean().default(false).describe(description);
}

export const ofInstall = text.optional().describe('Only those of one install.');
export const ofTool = text.optional().describe('Only those of one tool.');

export const contractKey = { install: z.string(), contractId: z.string() };

export const oneContract = {
  contract: text.describe('Its id.'),
  install: text.optional().describe('Its install, if several have a contract with this id.'),
};

/** @throws AppError `not_found` */
export function found<T>(what: string, id: number, value: T | undefined): T {
  if (value === undefined) throw new AppError('not_found', `There is no ${what} ${id}`);
  return value;
}

/** The install in an address. On a command line it may be left out if there is only one. */
export const theInstall = text.describe('Which install; may be left out if there is only one.');

const seconds = /^([0-9]{1,2}|100)s$/;

export const waiting = z
  .string()
  .refine((text) => seconds.test(text), 'must be a duration such as 30s, at most 100s')
  .meta({ pattern: seconds.source })
  .default('30s')
  .describe('How long to wait at most until it is done, up to 100s.');

export const Plan = named('Plan', {
  id: z.int(),
  install: z.string(),
  state: z.enum(planStates),
  createdAt: instant,
  decidedAt: maybeInstant,
  size: count.describe('How many people it has.'),
});
