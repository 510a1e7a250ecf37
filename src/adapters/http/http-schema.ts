import { z } from 'zod';
import { AppError } from '../../domain/errors.ts';
import { pathSegment } from '../../lib/url.ts';
import { allowHttp, credential, isTransportAllowed, plainHttp, rootUrl } from '../settings-schema.ts';

const answerPath = z
  .string()
  .regex(/^([^.{}]+(\.[^.{}]+)*)?$/, 'write keys joined by dots, such as "data.members", or "" for the whole answer');

const headerName = z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, 'is not the name of a header');
const headerValue = z
  .string()
  .regex(/^[\x20-\x7e]*$/, 'a header is printable ASCII')
  .check(onlyPlaceholders(['token']));
const headers = z.record(headerName, headerValue);

/** These statuses concern the request, never a person. */
const neverAboutAPerson = [401, 403, 408, 425, 429];
const statuses = z.array(
  z
    .int()
    .min(400)
    .max(499)
    .refine((status) => !neverAboutAPerson.includes(status), 'is never about a person'),
);

const value = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const mark = z.strictObject({ at: answerPath, is: z.array(value).min(1) });

const queryName = z.string().min(1);
const total = answerPath.optional();

/** There is no default, because it would silently read only the first page. */
const pagesMissing =
  'is missing: say how to get the next page, by "page", "offset", "cursor", "link" or "link_header", or write "none" if one answer always has all members';

const PagesByKind = z.discriminatedUnion(
  'by',
  [
    z.strictObject({ by: z.literal('none') }),
    z.strictObject({ by: z.literal('page'), query: queryName, first: z.int().min(0).default(1), total }),
    z.strictObject({ by: z.literal('offset'), query: queryName, total }),
    z.strictObject({ by: z.literal('cursor'), query: queryName, at: answerPath }),
    z.strictObject({ by: z.literal('link'), at: answerPath }),
    z.strictObject({ by: z.literal('link_header') }),
  ],
  { error: ({ input }) => (input === undefined ? pagesMissing : undefined) },
);
const PageSettings = z.preprocess((pages) => (pages === 'none' ? { by: 'none' } : pages), PagesByKind);
export type PageSettings = z.output<typeof PageSettings>;

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** The keys of every request. @param placeholders that its templates may use */
function requestShape(method: (typeof methods)[number], placeholders: readonly string[]) {
  const template = z.string().check(onlyPlaceholders(placeholders));
  return {
    method: z.enum(methods).default(method),
    path: template
      .regex(/^\/[^?#\s]*$/, 'begins with "/", and has no "?", "#" or space')
      .refine(hasWholeSegments, 'a placeholder is a whole segment: "/groups/{group}/members"'),
    query: z.record(z.string(), template).default({}),
    headers: headers.default({}),
    body: z
      .json()
      .transform((body): JsonTemplate => body)
      .check(onlyPlaceholders(placeholders))
      .optional(),
  };
}

const aboutPerson = ['group', 'trainerId', 'email', 'displayName'] as const;
const aboutMember = ['group', 'memberId', 'email'] as const;

/** Reads members or accounts, on one page or on many. */
function listRequest(placeholders: readonly string[]) {
  return z.strictObject({
    ...requestShape('GET', placeholders),
    items: answerPath.default(''),
    pages: PageSettings,
    absent: statuses.default([]),
  });
}

function removalRequest() {
  return z.strictObject({ ...requestShape('DELETE', aboutMember), absent: statuses.default([404, 410]) });
}

const requests = z
  .strictObject({
    check: z.strictObject(requestShape('GET', [])),
    find: listRequest(aboutPerson).optional(),
    findById: z
      .strictObject({
        ...requestShape('GET', ['group', 'memberId']),
        item: answerPath.default(''),
        absent: statuses.default([404, 410]),
      })
      .optional(),
    findAccount: listRequest(['trainerId', 'email', 'displayName']).optional(),
    list: listRequest(['group']).optional(),
    add: z.strictObject({
      ...requestShape('POST', aboutPerson),
      item: answerPath.optional(),
      present: statuses.optional(),
    }),
    remove: removalRequest(),
    removeAccount: removalRequest().optional(),
    update: z.strictObject(requestShape('PATCH', aboutMember)).optional(),
  })
  .refine(
    ({ update, findById, find }) => update === undefined || findById !== undefined || find === undefined,
    'with "update" also needs "findById", because an old address finds no account',
  )
  .refine(
    ({ removeAccount, update, findAccount }) =>
      findAccount !== undefined || (removeAccount === undefined && update === undefined),
    'with "removeAccount" or "update" also needs "findAccount", because the owner of an account must be known before it is ended or changed',
  )
  .refine(({ find, list }) => find !== undefined || list !== undefined, 'needs "find" or "list"');

const MemberSettings = z.strictObject({
  id: answerPath,
  email: answerPath,
  invited: mark.optional(),
  gone: mark.optional(),
});
export type MemberSettings = z.output<typeof MemberSettings>;

export const HttpSettings = z
  .strictObject({
    url: rootUrl('needs "url", the root of the tool\'s API'),
    token: credential().optional(),
    allowHttp,
    headers: headers.default({}),
    group: z
      .string()
      .check(onlyPlaceholders(['externalProjectId']))
      .refine((text) => text.includes('{externalProjectId}'), 'must name {externalProjectId}')
      .default('{externalProjectId}'),
    offboarding: z.enum(['locks_out', 'membership_only'], {
      error: 'say what a removal does: "locks_out", or "membership_only" if a removed person can still get in',
    }),
    offboardingReason: z.string().trim().min(1).optional(),
    readding: z.enum(['yes', 'new_account', 'no']).default('yes'),
    exclusive: z.enum(['membership', 'group', 'tool']).default('membership'),
    member: MemberSettings,
    requests,
  })
  .refine(isTransportAllowed, plainHttp)
  .refine((tool) => tool.offboarding === 'locks_out' || tool.offboardingReason !== undefined, {
    path: ['offboardingReason'],
    error: 'is needed with "membership_only": how can a removed person still get in?',
  })
  .refine((tool) => tool.token !== undefined || !namesToken(tool), {
    path: ['token'],
    error: 'is missing, but a header uses it',
  });
export type HttpSettings = z.output<typeof HttpSettings>;
export type ListRequest = NonNullable<HttpSettings['requests']['list']>;

function namesToken(tool: { headers: object; requests: object }): boolean {
  const all = [tool, ...Object.values(tool.requests)] as { headers: Record<string, string> }[];
  return all.some((request) => placeholdersOf(request.headers).includes('token'));
}

function hasWholeSegments(path: string): boolean {
  return path.split('/').every((part) => !/[{}]/.test(part) || /^\{[A-Za-z]+\}$/.test(part));
}

function onlyPlaceholders(known: readonly string[]) {
  return z.superRefine((template: JsonTemplate, context) => {
    for (const name of new Set(placeholdersOf(template))) {
      if (known.includes(name)) continue;
      const choice = known.map((one) => `{${one}}`).join(', ') || 'none';
      context.addIssue(`there is no {${name}} here; there is: ${choice}`);
    }
  });
}

/** The values of placeholders. Strangers chose them, so they are inserted once and not expanded again. */
export type TemplateValues = ReadonlyMap<string, string>;

export function toValues(values: Record<string, string | null | undefined>): TemplateValues {
  return new Map(Object.entries(values).flatMap(([name, value]) => (value == null ? [] : [[name, value] as const])));
}

/** Any JSON; its strings are templates, its keys are not. */
type JsonTemplate = string | number | boolean | null | JsonTemplate[] | { [key: string]: JsonTemplate };

const pattern = /\{([A-Za-z]+)\}/g;

/** The names in braces. */
export function placeholdersOf(template: JsonTemplate): string[] {
  if (typeof template === 'string') return [...template.matchAll(pattern)].map(([, name = '']) => name);
  if (template === null || typeof template !== 'object') return [];
  return Object.values(template).flatMap(placeholdersOf);
}

/** @throws AppError `invalid` for a placeholder without a value */
export function expandText(template: string, values: TemplateValues): string {
  return template.replace(pattern, (_, name: string) => toValue(name, values));
}

/** @throws AppError `invalid` also for a value that cannot be one segment of a path */
export function expandPath(template: string, values: TemplateValues): string {
  return template.replace(pattern, (_, name: string) => pathSegment(toValue(name, values)));
}

/** @throws AppError `invalid` for a placeholder without a value */
export function expandJson(template: JsonTemplate, values: TemplateValues): JsonTemplate {
  if (typeof template === 'string') return expandText(template, values);
  if (template === null || typeof template !== 'object') return template;
  if (Array.isArray(template)) return template.map((item) => expandJson(item, values));
  const entries = Object.entries(template);
  return Object.fromEntries(entries.map(([key, value]) => [key, expandJson(value, values)]));
}

function toValue(name: string, values: TemplateValues): string {
  const value = values.get(name);
  if (value !== undefined) return value;
  throw new AppError('invalid', `The request needs {${name}}, which this member does not have`);
}
