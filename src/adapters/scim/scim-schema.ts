import { z } from 'zod';
import { isPlainBeyondLoopback } from '../../lib/loopback.ts';

/** The settings of a tool with the adapter `scim`: every key and its meaning. */

const url = z
  .url({ protocol: /^https?$/, error: 'needs "url", the root of SCIM: https://host/scim/v2' })
  .refine((text) => !/[?#@]/.test(text), 'without credentials, query or fragment')
  .transform((text) => text.replace(/\/+$/, ''));

const group = z
  .string()
  .refine((text) => text.trim() !== '', 'is the name of a group, or null for none')
  .refine(
    (text) => !/[{}]/.test(text.replaceAll('{externalProjectId}', '')),
    'there is no placeholder but {externalProjectId}',
  );

export const ScimSettings = z
  .strictObject({
    url: url.describe('The root of SCIM, such as https://host/scim/v2.'),
    token: z
      .string({ error: 'needs "token", the bearer token that may change users and groups' })
      .regex(/^[\x21-\x7e]+$/, 'is printable ASCII without spaces')
      .describe('The bearer token. It goes into one header and nowhere else.'),
    allowHttp: z.boolean().default(false).describe('Plain http to another machine: the token can be read on its way.'),
    group: group
      .nullable()
      .default('{externalProjectId}')
      .describe(
        'The display name of the group that a project has: with {externalProjectId} one for each project, without it one for all, and null for none, where an active account is the membership.',
      ),
    createGroups: z
      .boolean()
      .default(false)
      .describe('Whether a missing group is created when a member is to be added.'),
    offboarding: z
      .enum(['deactivate', 'group'], {
        error:
          'say what a removal does: "deactivate" ends the account when nothing in the tool is wanted for it any more, "group" takes out of the group and leaves the account active',
      })
      .describe('What a removal does besides taking the person out of the group.'),
    contentType: z
      .enum(['application/scim+json', 'application/json'])
      .default('application/scim+json')
      .describe('How bodies are labelled. A server that answers 415 is given the other one.'),
    ifMatch: z
      .boolean()
      .default(false)
      .describe('Whether changes name the version they are of, for servers that support ETags.'),
  })
  .refine(({ url: root, allowHttp }) => allowHttp || !isPlainBeyondLoopback(root), {
    path: ['url'],
    error: 'is plain http to another machine, which needs "allowHttp": true',
  })
  .refine((tool) => tool.group !== null || tool.offboarding === 'deactivate', {
    path: ['offboarding'],
    error: 'must be "deactivate" without groups: there is nothing else to take away',
  });
export type ScimSettings = z.output<typeof ScimSettings>;
