import { z } from 'zod';
import { AppError } from '../../domain/errors.ts';
import { allowHttp, credential, isTransportAllowed, plainHttp, rootUrl } from '../settings-schema.ts';
import { isNumericId } from '../values.ts';

/** The settings of a tool with the adapter `cvat`, and the answers of CVAT. */

const slug = /^[\w-]{1,16}$/;

export const CvatSettings = z
  .strictObject({
    url: rootUrl('needs "url", where CVAT is opened in a browser').transform((text) => text.replace(/\/api$/, '')),
    token: credential('needs "token", a personal access token'),
    organization: z
      .string({ error: 'needs "organization", the short name of the organization' })
      .regex(slug, 'is the short name: up to 16 letters, digits, "-" and "_"'),
    role: z.enum(['worker', 'supervisor', 'maintainer']).default('worker'),
    analytics: z.boolean().default(true),
    allowHttp,
  })
  .refine(isTransportAllowed, plainHttp);
export type CvatSettings = z.output<typeof CvatSettings>;

const id = z.int().positive();
const User = z.object({ id, username: z.string() });

const Membership = z.object({
  id,
  /** Null if the account was deleted. */
  user: User.nullable(),
  is_active: z.boolean(),
  joined_date: z.string().nullish(),
  role: z.string(),
  invitation: z.string().nullable(),
});
export type Membership = z.output<typeof Membership>;

export const CvatInvitation = z.object({
  key: z.string().min(1),
  created_date: z.string(),
  user: User,
  /** Missing in older versions. */
  accepted: z.boolean().optional(),
  /** Null if no mail was sent: then it never expires. */
  expired: z.boolean().nullish(),
});
export type CvatInvitation = z.output<typeof CvatInvitation>;

export const Export = z.object({ status: z.string(), result_url: z.string().nullish() });
export const Plugins = z.object({ ANALYTICS: z.boolean().optional() });
export const AccessToken = z.object({
  read_only: z.boolean(),
  expiry_date: z.string().nullish(),
  owner: User,
});

export interface CvatPage<Item> {
  count: number;
  next: string | null;
  results: Item[];
}

function pageOf<Item>(item: z.ZodType<Item>): z.ZodType<CvatPage<Item>> {
  return z.object({ count: z.int(), next: z.string().nullable(), results: z.array(item) });
}

export const About = z.object({ version: z.string() });
export const Memberships = pageOf(Membership);
export const Users = pageOf(User);
const Organization = z.object({ id, slug: z.string(), created_date: z.string().nullish() });
export const Organizations = pageOf(Organization);
const Assigned = z.object({
  id,
  assignee: z.object({ id }).nullable(),
  /** Of a job or a task. */
  project_id: z.int().nullish(),
  /** Of a job. */
  state: z.string().optional(),
});
export type Assigned = z.output<typeof Assigned>;

/** Jobs, tasks or projects. */
export const AssignedPage = pageOf(Assigned);
const Guided = z.object({ id, guide_id: id.nullish() });
export const GuidedPage = pageOf(Guided);
export const Guide = z.object({ markdown: z.string() });
export const StartedExport = z.object({ rq_id: z.string().min(1) });

/** @throws AppError `invalid` for a text that is not a number */
export function toProjectId(project: string): string {
  if (isNumericId(project)) return project;
  throw new AppError(
    'invalid',
    'The id of a CVAT project is a number: link the job to the number in the URL of the project in CVAT',
  );
}

/** An empty name would mean "outside of all organizations". @throws AppError `invalid` for an invalid short name */
export function toOrganization(groupId: string): string {
  if (slug.test(groupId)) return groupId;
  throw new AppError('invalid', 'The group is not the short name of a CVAT organization');
}
