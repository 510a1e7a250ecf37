import { z } from 'zod';
import { allowHttp, credential, isTransportAllowed, plainHttp, rootUrl } from '../settings-schema.ts';

/** The settings of a tool with the adapter `scim`. */

const group = z
  .string()
  .refine((text) => text.trim() !== '', 'is the name of a group, or null for none')
  .refine(
    (text) => !/[{}]/.test(text.replaceAll('{externalProjectId}', '')),
    'the only placeholder is {externalProjectId}',
  );

export const ScimSettings = z
  .strictObject({
    url: rootUrl('needs "url", the root of SCIM: https://host/scim/v2'),
    token: credential('needs "token", the bearer token that may change users and groups'),
    allowHttp,
    group: group.nullable().default('{externalProjectId}'),
    createGroups: z.boolean().default(false),
    offboarding: z.enum(['deactivate', 'group'], {
      error:
        'say what a removal does: "deactivate" ends the account when its last membership in the tool ends, "group" takes out of the group and leaves the account active',
    }),
    contentType: z.enum(['application/scim+json', 'application/json']).default('application/scim+json'),
    ifMatch: z.boolean().default(false),
  })
  .refine(isTransportAllowed, plainHttp)
  .refine((tool) => tool.group !== null || tool.offboarding === 'deactivate', {
    path: ['offboarding'],
    error: 'must be "deactivate" without groups: there is nothing else to take away',
  });
export type ScimSettings = z.output<typeof ScimSettings>;
