import { z } from 'zod';
import { platformEventTypes } from '../../domain/event.ts';
import { family, op } from './operation.ts';
import { Budget, ContractRecord, Endpoint, OpenapiDocument } from './records.ts';
import { deliverable, id, name, paging, webUrl } from './requests.ts';
import { fields, lenient, maybeWord, optionalRecord, pageOf, words } from './shapes.ts';
import { Amount, Count, Email, Flag, Id, NullableId, NullableInstant, Secret, Text, WebUrl, Words } from './values.ts';

/** The annotation-platform API, for the token of an install (spec: platform-api.md, part B section 4.3). */

export const platformScopes = [
  'project-links:read',
  'project-links:write',
  'contracts:read',
  'participants:read',
  'participants:email',
  'usage:write',
  'webhooks:manage',
] as const;

export const Grant = z.object({
  id: Id,
  status: words('ACTIVE'),
  /** The scopes of the grant. The scopes of the token decide what a call may do. */
  scopes: lenient(Words),
  piiConsent: Flag,
  organizationId: NullableId,
  createdAt: NullableInstant,
  partnerApp: lenient(z.object({ id: Id, slug: Text, name: Text })),
  token: lenient(z.object({ id: NullableId, name: lenient(z.string().max(500)), scopes: lenient(Words) })),
});

export const provisioningModes = ['PARTNER_WEBHOOK', 'MANAGED_ADAPTER'] as const;

export const Link = z.object({
  id: Id,
  externalProjectId: Id,
  externalProjectName: Text,
  externalProjectUrl: WebUrl,
  provisioningMode: maybeWord(...provisioningModes),
  /** Null for a link without a job, which has no contracts. */
  jobId: NullableId,
  createdAt: NullableInstant,
});
export type Link = z.infer<typeof Link>;

export const Contract = ContractRecord.extend({ projectLinkIds: z.array(Id).catch([]) });
export type Contract = z.infer<typeof Contract>;

export const Participant = z.object({
  opentrainUserId: Id,
  ...fields(Text, 'displayName', 'country', 'profileUrl'),
  /** Null without consent, and until the trainer has one. */
  workEmail: Email,
});

export const UsageAnswer = z.object({
  contractId: Id,
  /** How many entries were accepted; null if the marketplace did not say. */
  accepted: Amount,
  /** Null if it is invalid: the usage is stored all the same. */
  budget: optionalRecord(Budget),
});
export type UsageAnswer = z.infer<typeof UsageAnswer>;

const newLink = z.object({
  externalProjectId: id,
  externalProjectName: name.nullish(),
  externalProjectUrl: webUrl.nullish(),
  provisioningMode: z.enum(provisioningModes).optional(),
  jobId: id.nullish(),
});

const count = Count.optional();
const entry = z.object({
  workDate: z.iso.date(),
  totalSeconds: Count.max(86_400).optional(),
  tasksCompleted: count,
  labelsCompleted: count,
  workerOpentrainUserId: id.optional(),
  externalReportId: z.string().optional(),
});

const eventTypes = z.array(z.enum(platformEventTypes)).min(1);
const OneLink = z.object({ projectLink: Link });
const OneEndpoint = z.object({ webhookEndpoint: Endpoint });
/** The answer must confirm the deletion, or be empty (204). */
function deleted(name: string, record: z.ZodType) {
  return z.object({ deleted: z.literal(true), [name]: lenient(record) }).optional();
}

const shared = { api: 'platform', credential: 'platform', section: 'B 4.3' } as const;

export const installs = family('installs', { ...shared })({
  current: op('GET /installs/current', 'read the install', { out: z.object({ install: Grant }) }),
});

export const projectLinks = family('project-links', {
  ...shared,
  scopes: ['project-links:read'],
  own: 'gangway links',
})({
  list: op('GET /project-links', 'list the project links', { out: pageOf('projectLinks', Link) }),
  create: op('POST /project-links', 'create a project link', {
    scopes: ['project-links:write'],
    in: newLink,
    out: OneLink,
    status: 201,
    // Its unique externalProjectId refuses a second one.
    idempotency: 'nature',
    refusals: [404, 409],
  }),
  get: op('GET /project-links/{linkId}', 'read a project link', { out: OneLink }),
  delete: op('DELETE /project-links/{linkId}', 'delete a project link', {
    scopes: ['project-links:write'],
    out: deleted('projectLink', Link),
  }),
});

export const platformContracts = family('platform-contracts', { ...shared, scopes: ['contracts:read'] })({
  list: op('GET /contracts', 'list the contracts', {
    in: z.object({ status: z.enum(['active', 'ended']).optional(), projectLinkId: id.optional(), ...paging(200) }),
    out: pageOf('contracts', Contract),
    limits: ['50 a page, 200 at most'],
    assumed: 'A nextCursor may come.',
  }),
  participants: op('GET /contracts/{contractId}/participants', 'list the participants of a contract', {
    scopes: ['participants:read'],
    out: pageOf('participants', Participant).extend({ contractId: NullableId }),
  }),
  budget: op('GET /contracts/{contractId}/budget', 'read the budget of a contract', { out: Budget }),
  // Each total replaces the one before.
  usage: op('POST /contracts/{contractId}/usage', 'report the usage of a contract', {
    scopes: ['usage:write'],
    in: z.object({ entries: z.array(entry).min(1).max(100) }),
    out: UsageAnswer,
    limits: ['1 to 100 entries a request', '0 to 86,400 seconds a day'],
    refusals: [409],
    own: 'gangway usage report',
  }),
});

export const webhookEndpoints = family('webhook-endpoints', {
  ...shared,
  scopes: ['webhooks:manage'],
  own: 'gangway endpoint',
})({
  list: op('GET /webhook-endpoints', 'list the webhook endpoints', { out: pageOf('webhookEndpoints', Endpoint) }),
  create: op('POST /webhook-endpoints', 'create a webhook endpoint', {
    in: z.object({ url: deliverable, eventTypes }),
    out: OneEndpoint.extend({ secret: Secret, message: Text }),
    status: 201,
    refusals: [409],
  }),
  get: op('GET /webhook-endpoints/{endpointId}', 'read a webhook endpoint', { out: OneEndpoint }),
  update: op('PATCH /webhook-endpoints/{endpointId}', 'update a webhook endpoint', {
    in: z.object({
      url: deliverable.optional(),
      eventTypes: eventTypes.optional(),
      status: z.enum(['ACTIVE', 'DISABLED']).optional(),
    }),
    out: OneEndpoint,
  }),
  delete: op('DELETE /webhook-endpoints/{endpointId}', 'delete a webhook endpoint', {
    out: deleted('webhookEndpoint', Endpoint),
  }),
  redeliver: op('POST /webhook-endpoints/{endpointId}/redeliver', 'ask for deliveries to be sent again', {
    in: z.object({ deliveryId: id.optional() }),
    out: z.object({ webhookEndpoint: lenient(Endpoint), requeued: Amount, message: Text }).prefault({}),
  }),
});

export const platformOpenapi = family('platform-openapi', { ...shared, credential: 'none' })({
  get: op('GET /openapi.json', 'read the description of the API', { out: OpenapiDocument }),
});
