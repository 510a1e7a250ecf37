import { z } from 'zod';
import { allowHttp, credential, isTransportAllowed, plainHttp, rootUrl } from '../settings-schema.ts';

/** The settings of a tool with the adapter `label-studio`, and the used fields of Label Studio's answers. */

const root = rootUrl('needs "url", where Label Studio is');

export const LabelStudioSettings = z
  .strictObject({
    url: root,
    publicUrl: root.optional(),
    token: credential('needs "token", a personal access token of the organization\'s owner'),
    allowHttp,
    onboarding: z.enum(['invite_link', 'sign_up']).default('invite_link'),
    offboarding: z.enum(['membership', 'delete_user'], {
      error:
        'say what a removal does: "delete_user" (locks them out, and takes their name off their work) or "membership" (keeps it, and they still get in)',
    }),
    organization: z.coerce
      .string()
      .regex(/^[1-9]\d{0,15}$/, 'is the number of an organization')
      .default('1'),
  })
  .refine(isTransportAllowed, plainHttp);
export type LabelStudioSettings = z.output<typeof LabelStudioSettings>;

export const Version = z.object({ release: z.string(), edition: z.string().optional() });
export type Version = z.output<typeof Version>;

export const User = z.object({
  id: z.int(),
  email: z.string().nullish(),
  /** When the account was made. */
  date_joined: z.string().nullish(),
});
export type User = z.output<typeof User>;

export const Me = User.extend({ active_organization: z.int().nullable() });
export type Me = z.output<typeof Me>;

/** A list in the community edition, and a page in an edition with pages. */
export const Users = z.union([
  z.array(User).transform((users) => ({ users, hasMore: false })),
  z
    .object({ results: z.array(User), next: z.string().nullable() })
    .transform(({ results, next }) => ({ users: results, hasMore: next !== null })),
]);

export const Organization = z.object({
  id: z.int(),
  created_by: z.int().nullish(),
  /** With microseconds, so it identifies the server. */
  created_at: z.string().nullish(),
});
export type Organization = z.output<typeof Organization>;

export const Invite = z.object({ token: z.string().min(1) });

/** What annotators are shown before they begin: HTML. */
export const Instructions = z.object({ expert_instruction: z.string().nullish() });

export const AccessToken = z.object({ access: z.string().min(1) });

const completedBy = z.union([z.int(), z.object({ id: z.int() }).transform(({ id }) => id)]).nullable();

export const Annotation = z.object({
  id: z.int(),
  /** Null if the user was deleted. */
  completed_by: completedBy,
  was_cancelled: z.boolean().nullish(),
  created_at: z.string(),
  updated_at: z.string(),
  /** Seconds so far; null if the annotation was not made in the browser. */
  lead_time: z.number().nullish(),
  /** Entries with the same id are one region. */
  result: z.array(z.object({ id: z.string().nullish(), type: z.string().nullish() })).nullish(),
});
export type Annotation = z.output<typeof Annotation>;

export const TaskPage = z.object({
  tasks: z.array(z.object({ id: z.int(), annotations: z.array(Annotation).default([]) })),
  total: z.int(),
});
export type TaskPage = z.output<typeof TaskPage>;
