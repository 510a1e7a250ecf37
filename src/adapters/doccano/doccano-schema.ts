import { z } from 'zod';
import { allowHttp, credential, isTransportAllowed, mapOf, plainHttp, rootUrl } from '../settings-schema.ts';

/** The settings of a tool with the adapter `doccano`, and the answers of doccano. */

const url = rootUrl('needs "url", the root of doccano, without "/v1"').refine(
  (text) => !/\/v1$/.test(text),
  'without "/v1": it is the root of doccano',
);

export const DoccanoSettings = z
  .strictObject({
    url,
    username: z.string().min(1).optional(),
    password: z.string().min(1).optional(),
    token: credential().optional(),
    role: z.string().min(1).default('annotator'),
    allowHttp,
  })
  .refine(isTransportAllowed, plainHttp)
  .transform(({ username, password, token, ...rest }, context) => {
    if (token === undefined && username !== undefined && password !== undefined) {
      return { ...rest, credentials: { username, password } };
    }
    if (token !== undefined && username === undefined && password === undefined) {
      return { ...rest, credentials: { token } };
    }
    context.addIssue('needs either "username" and "password", or "token"');
    return z.NEVER;
  });
export type DoccanoSettings = z.output<typeof DoccanoSettings>;

const id = z.int().positive();

export const Login = z.object({ key: z.string().min(1) });

export const User = z.object({ id, username: z.string() });
export type User = z.output<typeof User>;
export const Users = z.array(User);

export const Me = User.extend({ is_superuser: z.boolean(), is_staff: z.boolean() });
export type Me = z.output<typeof Me>;

export const Roles = z.array(z.object({ id, name: z.string() }));

/** A member of a project. `id` identifies the row, which is another one in every project. */
export const MemberRow = z.object({
  id,
  user: id,
  username: z.string(),
  rolename: z.string(),
});
export type MemberRow = z.output<typeof MemberRow>;
export const MemberRows = z.array(MemberRow);

export const Project = z.object({
  id,
  project_type: z.string(),
  /** Markdown. */
  guideline: z.string().nullish(),
});

/** A page of the projects that the caller is in. */
export const ProjectPage = z.object({
  count: z.int().min(0),
  results: z.array(z.object({ id })),
});

export const MemberProgress = z.object({
  progress: z.array(z.object({ user: z.string(), done: z.int().min(0) })),
});

/** The number of labels by username. */
export const Distribution = mapOf(
  mapOf(z.int().min(0)).transform((counts) => [...counts.values()].reduce((sum, count) => sum + count, 0)),
);
