import { z } from 'zod';
import { allowHttp, credential, isTransportAllowed, plainHttp, rootUrl } from '../settings-schema.ts';

/** The settings of a tool with the adapter `scim`: every key and its meaning. */

const group = z
  .string()
  .refine((text) => text.trim() !== '', 'is the name of a group, or null for none')
  .refine(
    (text) => !/[{}]/.test(text.replaceAll('{externalProjectId}', '')),
    'there is no placeholder but {externalProjectId}',
  );

export const ScimSettings = z
  .strictObject({
    url: rootUrl('needs "url", the root of SCIM: https://host/scim/v2').describe(
      'The root of SCIM, such as https://host/scim/v2.',
    ),
    token: credential('needs "token", the bearer token that may change users and groups').describe(
      'The bearer token. It goes into one header and nowhere else.',
    ),
    allowHttp,
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
  .refine(isTransportAllowed, plainHttp)
  .refine((tool) => tool.group !== null || tool.offboarding === 'deactivate', {
    path: ['offboarding'],
    error: 'must be "deactivate" without groups: there is nothing else to take away',
  });
export type ScimSettings = z.output<typeof ScimSettings>;
