import { z } from 'zod';
import { audiences } from './manual.ts';

/** The requests of the read side of instructions (spec: part B section 4.1). Unknown keys are ignored. */

const wholeNumber = z.string().regex(/^\d+$/, 'must be a whole number').transform(Number);

/** Assumed: page sizes are not documented. */
export const InstructionsQuery = z.object({
  cursor: z.string().regex(/^\d+$/, 'not one that this listing returned').default('0').transform(Number).pipe(z.int()),
  limit: wholeNumber.pipe(z.int().min(1).max(100)).default(25),
});

export const ManifestQuery = z.object({ audience: z.enum(audiences).optional() });

export const PageQuery = z.object({
  /** The draft by default. */
  revision: wholeNumber.pipe(z.int()).optional(),
  format: z.enum(['json', 'html', 'markdown']).default('json'),
});
