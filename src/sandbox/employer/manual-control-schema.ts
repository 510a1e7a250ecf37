import { z } from 'zod';
import { audiences, bindingKinds } from './manual.ts';

/** What people ask of their manuals. Unknown keys are refused, because they are typing errors. */

const Page = z.strictObject({
  title: z.string(),
  /** The canonical JSON; an empty document by default. */
  content: z.unknown().optional(),
  /** That of the manual by default. */
  audience: z.enum(audiences).optional(),
  /** Which of the earlier pages it is below, from 0; none by default. */
  parent: z.int().min(0).optional(),
});

const Binding = z.strictObject({
  kind: z.enum(bindingKinds).default('JOB'),
  targetId: z.string(),
  precedence: z.int().default(0),
});

export const NewManual = z.strictObject({
  title: z.string().default('How to label'),
  audience: z.enum(audiences).default('WORKER'),
  bindings: z.array(Binding).default([]),
  pages: z.array(Page).min(1),
});
export type NewManual = z.input<typeof NewManual>;

/** All that a manual is bound to from now on. */
export const NewBindings = z.strictObject({ bindings: z.array(Binding) });
export type NewBindings = z.input<typeof NewBindings>;

/** Fields that are left out keep their value. */
export const PageEdit = z.strictObject({ title: z.string().optional(), content: z.unknown().optional() });
export type PageEdit = z.input<typeof PageEdit>;

export const NewPublication = z.strictObject({
  audiences: z.array(z.enum(audiences)).min(1).default(['WORKER']),
  note: z.string().nullable().default(null),
});
export type NewPublication = z.input<typeof NewPublication>;
