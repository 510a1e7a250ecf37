import { z } from 'zod';
import { AppError, toAppError } from '../domain/errors.ts';
import { sayFault } from '../lib/say-fault.ts';
import { bindingKinds } from '../marketplace/contract/instructions.ts';

/** What the files of a manual have. */

/** The marketplace judges it. */
const audience = z.string().max(40).nullable();

/** Strict, so that a misspelt name is no page without it. */
export const Front = z.strictObject({
  /** None of a page that is new. */
  id: z.string().optional(),
  title: z.string().trim().min(1).max(300).optional(),
  audience: audience.optional(),
  position: z.int().min(0).optional(),
  revision: z.int().optional(),
  checksum: z.string().optional(),
});
export type Front = z.infer<typeof Front>;

const KnownPage = z.object({
  pageId: z.string(),
  parentId: z.string().nullable(),
  title: z.string(),
  position: z.int().min(0),
  audience,
  revision: z.int(),
  checksum: z.string(),
  isArchived: z.boolean(),
});
export type KnownPage = z.infer<typeof KnownPage>;

export const ManualFile = z.object({
  /** None of a manual that is new. */
  id: z.string().optional(),
  workspaceId: z.string().optional(),
  title: z.string().min(1).max(300),
  audience: audience.optional(),
  bindings: z.array(z.object({ kind: z.enum(bindingKinds), targetId: z.string() })).default([]),
  /** When it was pulled. */
  revision: z.int().default(0),
  /** When it was pulled, parents first. */
  pages: z.array(KnownPage).default([]),
});
export type ManualFile = z.infer<typeof ManualFile>;

/** What Markdown cannot say of a page. */
export const PageJson = z.object({ id: z.string(), revision: z.int(), content: z.unknown() });
export type PageJson = z.infer<typeof PageJson>;

/** @throws AppError `invalid` with the name of the file */
export function check<T>(schema: z.ZodType<T>, file: string, read: () => unknown): T {
  try {
    const { data, error } = schema.safeParse(read(), { error: sayFault });
    const [issue] = error?.issues ?? [];
    if (issue === undefined) return data as T;
    throw new AppError('invalid', `${issue.path.join('.')} ${issue.message}`.trim());
  } catch (error) {
    throw new AppError('invalid', `${file}: ${toAppError(error).message.split('\n', 1)[0]}`, { cause: error });
  }
}
