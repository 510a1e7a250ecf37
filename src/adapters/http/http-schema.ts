import { z } from 'zod';
import { allowHttp, credential, isTransportAllowed, plainHttp, rootUrl } from '../settings-schema.ts';
import { type JsonTemplate, placeholdersOf } from './template.ts';

/**
 * The settings of a tool with the adapter `http`: every key and its meaning. The README in this folder
 * has a whole example.
 */

const answerPath = z
  .string()
  .regex(/^([^.{}]+(\.[^.{}]+)*)?$/, 'write keys joined by dots, such as "data.members", or "" for the whole answer');

const headerName = z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, 'is not the name of a header');
const headerValue = z
  .string()
  .regex(/^[\x20-\x7e]*$/, 'a header is printable ASCII')
  .check(onlyPlaceholders(['token']));
const headers = z.record(headerName, headerValue);

/** These statuses are about the request and never about a person. */
const neverAboutAPerson = [401, 403, 408, 425, 429];
const statuses = z.array(
  z
    .int()
    .min(400)
    .max(499)
    .refine((status) => !neverAboutAPerson.includes(status), 'never says anything about a person'),
);

const value = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const mark = z.strictObject({
  at: answerPath.describe('Where in an item the mark is.'),
  is: z.array(value).min(1).describe('The values that set it, such as ["pending"] or [true].'),
});

const queryName = z.string().min(1).describe('The parameter of the query that names the page.');
const total = answerPath
  .optional()
  .describe('Where the number of all members is. Without it a list ends at its first empty page.');

/** There is no default: it would read only the first page of a tool with pages, and not notice. */
const pagesMissing =
  'is missing: say how the answer goes on, by "page", "offset", "cursor", "link" or "link_header", or write "none" where one answer always has all members';

const PagesByKind = z.discriminatedUnion(
  'by',
  [
    z.strictObject({
      by: z.literal('none').describe('One answer always has all members; also written "none".'),
    }),
    z.strictObject({
      by: z.literal('page').describe('Pages have numbers.'),
      query: queryName,
      first: z.int().min(0).default(1).describe('The number of the first page.'),
      total,
    }),
    z.strictObject({
      by: z.literal('offset').describe('A page begins after so many members.'),
      query: queryName,
      total,
    }),
    z.strictObject({
      by: z.literal('cursor').describe('Each answer has a mark that the next request hands back.'),
      query: queryName,
      at: answerPath.describe('Where it is; missing, null or empty on the last page.'),
    }),
    z.strictObject({
      by: z.literal('link').describe('Each answer has the URL of the next page.'),
      at: answerPath.describe('Where it is; missing, null or empty on the last page.'),
    }),
    z.strictObject({
      by: z.literal('link_header').describe('The header `Link` has it, as rel="next".'),
    }),
  ],
  { error: ({ input }) => (input === undefined ? pagesMissing : undefined) },
);
const PageSettings = z.preprocess((pages) => (pages === 'none' ? { by: 'none' } : pages), PagesByKind);
export type PageSettings = z.output<typeof PageSettings>;

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** The keys that every request has. Its templates may use these placeholders. */
function requestShape(method: (typeof methods)[number], placeholders: readonly string[]) {
  const template = z.string().check(onlyPlaceholders(placeholders));
  return {
    method: z.enum(methods).default(method),
    path: template
      .regex(/^\/[^?#\s]*$/, 'begins with "/", and has no "?", "#" or space')
      .refine(hasWholeSegments, 'a placeholder is a whole segment: "/groups/{group}/members"')
      .describe('Appended to `url`. A placeholder is one segment of it, percent-encoded.'),
    query: z.record(z.string(), template).default({}).describe('The parameters of the query.'),
    headers: headers.default({}).describe('Headers of this request, besides those of the tool.'),
    body: z
      .json()
      .transform((body): JsonTemplate => body)
      .check(onlyPlaceholders(placeholders))
      .optional()
      .describe('Sent as JSON; placeholders in its strings are expanded, its keys are left.'),
  };
}

const absent = statuses.describe('Statuses that say that there is no such thing.');
const aboutPerson = ['group', 'trainerId', 'email', 'displayName'] as const;
const aboutMember = ['group', 'memberId', 'email'] as const;

const requests = z
  .strictObject({
    check: z.strictObject(requestShape('GET', [])).describe('Anything that needs the token and changes nothing.'),
    find: z
      .strictObject({
        ...requestShape('GET', aboutPerson),
        items: answerPath.default('').describe('Where the found people are: a list, one object, or null.'),
        pages: PageSettings.describe('How the answer goes on, or "none".'),
        absent: absent.default([]),
      })
      .optional()
      .describe('Looks for a person by address. Other people in its answer are ignored.'),
    findById: z
      .strictObject({
        ...requestShape('GET', ['group', 'memberId']),
        item: answerPath.default('').describe('Where the member is.'),
        absent: absent.default([404, 410]),
      })
      .optional()
      .describe("Looks for a member by the tool's own id. It also finds a member whose address has changed."),
    findAccount: z
      .strictObject({
        ...requestShape('GET', ['trainerId', 'email', 'displayName']),
        items: answerPath.default('').describe('Where the found accounts are: a list, one object, or null.'),
        pages: PageSettings.describe('How the answer goes on, or "none".'),
        absent: absent.default([]),
      })
      .optional()
      .describe(
        'Looks for an account by address in the whole tool, in a group or in none. Needed with "removeAccount" and "update": only an account that was not there before is ever ended or changed.',
      ),
    list: z
      .strictObject({
        ...requestShape('GET', ['group']),
        items: answerPath.default('').describe('Where the list is.'),
        pages: PageSettings.describe('How it goes on, or "none".'),
        absent: absent.default([]),
      })
      .optional()
      .describe('All members of a group. Serves as `find`, where there is none.'),
    add: z
      .strictObject({
        ...requestShape('POST', aboutPerson),
        item: answerPath.optional().describe('Where the new member is in the answer. Without it they are looked for.'),
        present: statuses
          .optional()
          .describe(
            'Statuses that say that they are a member already; [] where a repeat does no harm. Without it they are looked for before each addition.',
          ),
      })
      .describe('Makes a person a member of the group.'),
    remove: z
      .strictObject({ ...requestShape('DELETE', aboutMember), absent: absent.default([404, 410]) })
      .describe('Takes a member out of the group.'),
    removeAccount: z
      .strictObject({ ...requestShape('DELETE', aboutMember), absent: absent.default([404, 410]) })
      .optional()
      .describe("Ends a member's login in the whole tool; made after `remove`."),
    update: z
      .strictObject(requestShape('PATCH', aboutMember))
      .optional()
      .describe(
        'Gives an account the address that its person has by now. Only for tools that never give an id out again.',
      ),
  })
  .refine(
    ({ update, findById, find }) => update === undefined || findById !== undefined || find === undefined,
    'with "update" also needs "findById", as an old address finds no account',
  )
  .refine(
    ({ removeAccount, update, findAccount }) =>
      findAccount !== undefined || (removeAccount === undefined && update === undefined),
    'with "removeAccount" or "update" also needs "findAccount": the owner of an account must be known before it is ended or changed',
  )
  .refine(({ find, list }) => find !== undefined || list !== undefined, 'needs "find" or "list"');

const MemberSettings = z.strictObject({
  id: answerPath.describe("Where the tool's id for the member is: text, or a whole number."),
  email: answerPath.describe('Where their address is.'),
  invited: mark.optional().describe('What marks a person who is invited and not in yet.'),
  gone: mark.optional().describe('What marks an entry that is no member (any more).'),
});
export type MemberSettings = z.output<typeof MemberSettings>;

export const HttpSettings = z
  .strictObject({
    url: rootUrl('needs "url", the root of the tool\'s API').describe(
      "The root of the tool's API; every path is appended to it.",
    ),
    token: credential().optional().describe('The credential. It goes into headers and nowhere else.'),
    allowHttp,
    headers: headers
      .default({})
      .describe('Headers of every request. Where none has the token: Authorization: Bearer {token}.'),
    group: z
      .string()
      .check(onlyPlaceholders(['externalProjectId']))
      .refine((text) => text.includes('{externalProjectId}'), 'must name {externalProjectId}')
      .default('{externalProjectId}')
      .describe('The id of the group that belongs to a project.'),
    offboarding: z
      .enum(['locks_out', 'membership_only'], {
        error: 'say what a removal does: "locks_out", or "membership_only" where they still get in',
      })
      .describe('Whether a removed person can still get in.'),
    offboardingReason: z.string().trim().min(1).optional().describe('How, for the operator.'),
    readding: z
      .enum(['yes', 'new_account', 'no'])
      .default('yes')
      .describe('Whether a removed person can be added again.'),
    exclusive: z
      .enum(['membership', 'group', 'tool'])
      .default('membership')
      .describe('What two calls must not change at once.'),
    member: MemberSettings.describe('Where things are in an item that stands for a member.'),
    requests: requests.describe('What is asked of the tool.'),
  })
  .refine(isTransportAllowed, plainHttp)
  .refine((tool) => tool.offboarding === 'locks_out' || tool.offboardingReason !== undefined, {
    path: ['offboardingReason'],
    error: 'is needed with "membership_only": how can a removed person still get in?',
  })
  .refine((tool) => tool.token !== undefined || !namesToken(tool), {
    path: ['token'],
    error: 'is missing, and a header asks for it',
  });
export type HttpSettings = z.output<typeof HttpSettings>;

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
