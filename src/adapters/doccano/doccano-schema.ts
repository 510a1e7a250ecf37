import { z } from 'zod';
import { allowHttp, credential, isTransportAllowed, plainHttp, rootUrl } from '../settings-schema.ts';

/** The settings of a tool with the adapter `doccano`, and the answers of doccano. */

const url = rootUrl('needs "url", the root of doccano, without "/v1"').refine(
  (text) => !/\/v1$/.test(text),
  'without "/v1": it is the root of doccano',
);

export const DoccanoSettings = z
  .strictObject({
    url: url.describe('The root of doccano, as people open it in a browser.'),
    username: z.string().min(1).optional().describe('The account that Gangway logs in as.'),
    password: z.string().min(1).optional().describe('Its password.'),
    token: credential().optional().describe('Its token, instead of username and password.'),
    role: z.string().min(1).default('annotator').describe('The name of the role that people get in a project.'),
    allowHttp,
  })
  .refine(isTransportAllowed, plainHttp)
  .transform(({ username, password, token, ...rest }, context) => {
    const credentials = toCredentials({ username, password, token });
    if (credentials !== null) return { ...rest, credentials };
    context.addIssue('needs either "username" and "password", or "token"');
    return z.NEVER;
  });
export type DoccanoSettings = z.output<typeof DoccanoSettings>;

export type DoccanoCredentials = { token: string } | { username: string; password: string };

interface CredentialKeys {
  username: string | undefined;
  password: string | undefined;
  token: string | undefined;
}

function toCredentials({ username, password, token }: CredentialKeys): DoccanoCredentials | null {
  if (token !== undefined) {
    return username === undefined && password === undefined ? { token } : null;
  }
  return username !== undefined && password !== undefined ? { username, password } : null;
}

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
export type MemberProgress = z.output<typeof MemberProgress>;

/** The number of labels by username. A Map, because a username or a label may be `__proto__`. */
export const Distribution = z
  .custom<object>(isObject)
  .transform((byUser) => new Map<string, unknown>(Object.entries(byUser)))
  .pipe(z.map(z.string(), z.custom<object>(isObject).transform(Object.values).pipe(toSum())));

function toSum() {
  return z.array(z.int().min(0)).transform((counts) => counts.reduce((sum, count) => sum + count, 0));
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
