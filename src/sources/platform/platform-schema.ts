import { z } from 'zod';
import { toEmail, toId, toText } from '../../domain/marketplace-text.ts';
import { Budget } from '../http/budget-schema.ts';
import {
  Amount,
  Flag,
  Id,
  Instant,
  lenient,
  maxDescriptionChars,
  maxUrlChars,
  NullableId,
  optional,
  paging,
  WebUrl,
  Words,
} from '../http/fields-schema.ts';

/**
 * Every shape that is assumed of the platform API's answers. No other file knows one. It is tolerant:
 * unknown fields and words are accepted, and an optional field may be missing or invalid. A record must
 * have its id, and an answer must have its records.
 */

// --- Installs (section 2)

const Token = z.object({
  id: NullableId,
  name: lenient(z.string().max(maxDescriptionChars)),
  scopes: lenient(Words),
});

export const Grant = z.object({
  id: Id,
  status: z.string(),
  scopes: lenient(Words),
  piiConsent: Flag,
  organizationId: NullableId,
  partnerApp: lenient(z.object({ id: Id })),
  token: lenient(Token),
});

export const InstallAnswer = z.object({ install: Grant });

// --- Project links (section 3)

export const ProjectLink = z.object({
  id: Id,
  externalProjectId: Id,
  externalProjectName: optional(toText),
  externalProjectUrl: WebUrl,
  provisioningMode: optional(toId),
  jobId: NullableId,
  createdAt: lenient(Instant),
});

export const ProjectLinkList = z.object({ projectLinks: z.array(ProjectLink), ...paging });

export const ProjectLinkAnswer = z.object({ projectLink: ProjectLink });

/** The deleted record is not read. The answer must say that it was deleted, or be empty (204). */
export const DeletedAnswer = z.object({ deleted: z.literal(true) }).optional();
export type DeletedAnswer = z.infer<typeof DeletedAnswer>;

// --- Contracts (section 4)

export const Contract = z.object({
  id: Id,
  status: z.string(),
  title: optional(toText),
  projectLinkIds: z.array(Id).catch([]),
  jobId: NullableId,
  startDate: lenient(Instant),
  endDate: lenient(Instant),
  createdAt: lenient(Instant),
});

export const ContractList = z.object({ contracts: z.array(Contract), ...paging });

export const Participant = z.object({
  opentrainUserId: Id,
  displayName: optional(toText),
  workEmail: optional(toEmail),
});

export const ParticipantList = z.object({
  contractId: NullableId,
  participants: z.array(Participant),
  ...paging,
});

export const UsageAnswer = z.object({
  contractId: Id,
  accepted: Amount,
  budget: Budget.nullish()
    .catch(null)
    .transform((budget) => budget ?? null),
});

// --- Webhook endpoints (section 5)

export const WebhookEndpoint = z.object({
  id: Id,
  status: z.string(),
  url: lenient(z.string().max(maxUrlChars)),
  eventTypes: lenient(Words),
  createdAt: lenient(Instant),
  consecutiveFailures: Amount,
  disabledAt: lenient(Instant),
  disabledReason: optional(toText),
});

export const WebhookEndpointList = z.object({
  webhookEndpoints: z.array(WebhookEndpoint),
  ...paging,
});

export const WebhookEndpointAnswer = z.object({ webhookEndpoint: WebhookEndpoint });
export type WebhookEndpointAnswer = z.infer<typeof WebhookEndpointAnswer>;

/** The whole secret is the key, with its `whsec_`. */
export const CreatedEndpointAnswer = z.object({
  webhookEndpoint: WebhookEndpoint,
  secret: z.string().regex(/^[\x21-\x7e]{8,1000}$/),
});
export type CreatedEndpointAnswer = z.infer<typeof CreatedEndpointAnswer>;

export const RedeliverAnswer = z.object({ requeued: Amount }).prefault({});
export type RedeliverAnswer = z.infer<typeof RedeliverAnswer>;
