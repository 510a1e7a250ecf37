import { z } from 'zod';
import { toEmail, toId, toInstantText, toText } from '../domain/marketplace-text.ts';

/**
 * Every shape that is assumed of the marketplace's answers. No other file knows one. It is tolerant:
 * unknown fields and words are accepted, and an optional field may be missing or invalid. A record must
 * have its id, and an answer must have its records.
 */
const Id = z.unknown().transform((value, context) => {
  const id = toId(value);
  if (id !== undefined) return id;
  context.addIssue('not an id');
  return z.NEVER;
});

function optional<T>(read: (value: unknown) => T | undefined) {
  return z
    .unknown()
    .transform((value) => read(value) ?? null)
    .prefault(null);
}

/** Absent if it is missing or invalid. Null, where it is allowed, means that there is none. */
function lenient<T extends z.ZodType>(schema: T) {
  return schema.optional().catch(undefined);
}

const Words = z.array(z.string());
const Flag = lenient(z.boolean());
const NullableId = lenient(Id.nullable());
const Instant = z.unknown().transform((value) => (value === null ? null : toInstantText(value)));

const maxUrlChars = 2048;
const maxDescriptionChars = 500;

/** Only http and https, because other links are never shown (docs/design.md, Surfaces). */
const WebUrl = lenient(
  z
    .url({ protocol: /^https?$/i })
    .max(maxUrlChars)
    .nullable(),
);

/** A number, also if it is sent as text, as exact amounts are. */
function toAmount(value: unknown): number | undefined {
  const isText = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value);
  const amount = isText ? Number(value) : value;
  return typeof amount === 'number' && Number.isFinite(amount) ? amount : undefined;
}
const Amount = optional(toAmount);

/** Assumed of every listing, although only that of contracts is documented with pages. */
const paging = {
  nextCursor: z.string().nullish().catch(null),
  hasMore: Flag,
};

// --- Installs (section 2)

const Token = z.object({
  id: NullableId,
  name: lenient(z.string().max(maxDescriptionChars)),
  scopes: lenient(Words),
});

export const Grant = z.object({
  id: Id,
  status: z.string(),
  /** The scopes of the grant. What a call may do depends on the scopes of the token. */
  scopes: lenient(Words),
  piiConsent: Flag,
  organizationId: NullableId,
  partnerApp: lenient(z.object({ id: Id })),
  token: lenient(Token),
});
export type Grant = z.infer<typeof Grant>;

export const InstallAnswer = z.object({ install: Grant });

// --- Project links (section 3)

export const ProjectLink = z.object({
  id: Id,
  externalProjectId: Id,
  externalProjectName: optional(toText),
  externalProjectUrl: WebUrl,
  provisioningMode: optional(toId),
  /** Null for a link without a job, which has no contracts. */
  jobId: NullableId,
  createdAt: lenient(Instant),
});
export type ProjectLink = z.infer<typeof ProjectLink>;

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
export type Contract = z.infer<typeof Contract>;

export const ContractList = z.object({ contracts: z.array(Contract), ...paging });

export const Participant = z.object({
  opentrainUserId: Id,
  displayName: optional(toText),
  workEmail: optional(toEmail),
});
export type Participant = z.infer<typeof Participant>;

export const ParticipantList = z.object({
  contractId: NullableId,
  participants: z.array(Participant),
  ...paging,
});

const Milestone = z.object({
  id: Id,
  name: optional(toText),
  amountUsd: Amount,
  volume: Amount,
  status: optional(toText),
});

/** Null is an unknown amount, and never 0. */
export const Budget = z.object({
  contractId: Id,
  paymentType: optional(toId),
  /** `OK`, `LOW`, `DEPLETED`, or a newer word. */
  state: z.string(),
  fundedVolume: Amount,
  fundedAmountUsd: Amount,
  consumed: z
    .object({ seconds: Amount, hours: Amount, labels: Amount, tasks: Amount })
    .nullish()
    .catch(null)
    .transform((consumed) => consumed ?? null),
  consumedVolume: Amount,
  remainingVolume: Amount,
  consumedFraction: Amount,
  activeMilestone: lenient(Milestone.nullable()),
  lastUsageAt: optional(toInstantText),
});
export type Budget = z.infer<typeof Budget>;

export const UsageAnswer = z.object({
  contractId: Id,
  /** How many entries were taken; null if the marketplace did not say. */
  accepted: Amount,
  /** The usage is stored even if this is invalid. */
  budget: Budget.nullish()
    .catch(null)
    .transform((budget) => budget ?? null),
});
export type UsageAnswer = z.infer<typeof UsageAnswer>;

// --- Webhook endpoints (section 5)

export const WebhookEndpoint = z.object({
  id: Id,
  /** `ACTIVE` or `DISABLED`. */
  status: z.string(),
  url: lenient(z.string().max(maxUrlChars)),
  eventTypes: lenient(Words),
  createdAt: lenient(Instant),
  consecutiveFailures: Amount,
  disabledAt: lenient(Instant),
  disabledReason: optional(toText),
});
export type WebhookEndpoint = z.infer<typeof WebhookEndpoint>;

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

// --- The served contract (section 1)

/** The part that can be compared. The operations are in `paths`, by path and method. */
export const OpenapiDocument = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
});
export type OpenapiDocument = z.infer<typeof OpenapiDocument>;
