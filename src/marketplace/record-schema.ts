import { z } from 'zod';
import type { AddressMissing } from '../domain/evidence.ts';
import { toEmail, toId, toInstantText, toText } from '../domain/marketplace-text.ts';

/**
 * The records of the port, and the fields of the marketplace's answers. They are tolerant: unknown fields and words are
 * accepted, and a record needs only its essential fields. Any other field is absent if it was missing or invalid; null,
 * where it is allowed, means that there is none.
 */

export const Id = z.unknown().transform((value, context) => {
  const id = toId(value);
  if (id !== undefined) return id;
  context.addIssue('not an id');
  return z.NEVER;
});

/** Null if the field is missing or invalid. */
export function optional<T>(read: (value: unknown) => T | undefined) {
  return z
    .unknown()
    .transform((value) => read(value) ?? null)
    .prefault(null);
}

/** Absent if the field is missing or invalid. Null, where it is allowed, means that there is none. */
export function lenient<T extends z.ZodType>(schema: T) {
  return schema.optional().catch(undefined);
}

export const Words = z.array(z.string());
const Flag = lenient(z.boolean());
export const NullableId = lenient(Id.nullable());
const Instant = lenient(z.unknown().transform((value) => (value === null ? null : toInstantText(value))));

/** The whole text is the key, including `whsec_`. */
export const Secret = z.string().regex(/^[\x21-\x7e]{8,1000}$/);

const maxUrlChars = 2048;

/** Only http and https, because other links must not be shown. */
export const WebUrl = lenient(
  z
    .url({ protocol: /^https?$/i })
    .max(maxUrlChars)
    .nullable(),
);

/** A number, or a number as text, which is how exact amounts are sent. */
function toAmount(value: unknown): number | undefined {
  const isText = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value);
  const amount = isText ? Number(value) : value;
  return typeof amount === 'number' && Number.isFinite(amount) ? amount : undefined;
}
export const Amount = optional(toAmount);

/** An answer with one record in the field `name`. */
export function recordIn<T extends z.ZodType>(name: string, record: T) {
  return z.object({ [name]: record }).transform((answer) => answer[name] as z.output<T>);
}

const paging = { nextCursor: z.string().nullish().catch(null), hasMore: Flag };

/** A page of a listing. Every listing may have pages, although only some are documented with them. */
export function pageOf<T extends z.ZodType>(name: string, record: T) {
  return z.object({ ...paging, [name]: z.array(record) }).transform(({ nextCursor, hasMore, ...rest }) => ({
    records: (rest as Record<string, unknown>)[name] as z.output<T>[],
    nextCursor,
    hasMore,
  }));
}

/** The operations are in `paths`, by path and method. */
export const OpenapiDocument = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
});
export type OpenapiDocument = z.infer<typeof OpenapiDocument>;

const maxNameChars = 500;

export const Grant = z.object({
  id: Id,
  status: z.string(),
  /** The scopes of the grant. The scopes of the token decide what a call may do. */
  scopes: lenient(Words),
  piiConsent: Flag,
  organizationId: NullableId,
  partnerApp: lenient(z.object({ id: Id })),
  token: lenient(z.object({ id: NullableId, name: lenient(z.string().max(maxNameChars)), scopes: lenient(Words) })),
});
export interface Grant extends z.infer<typeof Grant> {
  /** Whether several installs may have this grant, each for other jobs of one account. */
  isShared?: boolean;
}

export const Link = z.object({
  id: Id,
  externalProjectId: Id,
  externalProjectName: optional(toText),
  externalProjectUrl: WebUrl,
  provisioningMode: optional(toId),
  /** Null for a link without a job, which has no contracts. */
  jobId: NullableId,
  createdAt: Instant,
});
export type Link = z.infer<typeof Link>;

export const Contract = z.object({
  id: Id,
  /** `active`, `ended`, or an unknown status. */
  status: z.string(),
  title: optional(toText),
  projectLinkIds: z.array(Id).catch([]),
  jobId: NullableId,
  startDate: Instant,
  endDate: Instant,
  createdAt: Instant,
});
export type Contract = z.infer<typeof Contract>;

export const Participant = z.object({
  opentrainUserId: Id,
  displayName: optional(toText),
  /** Null without consent, and until the trainer has one. */
  workEmail: optional(toEmail),
});
/** A trainer on a contract. */
export interface Participant extends z.infer<typeof Participant> {
  /** Why there is no address, if the source knows. */
  addressMissing?: AddressMissing;
}

const Milestone = z.object({
  id: Id,
  name: optional(toText),
  amountUsd: Amount,
  volume: Amount,
  status: optional(toText),
});

/** Null means unknown, never 0. */
export const Budget = z.object({
  contractId: Id,
  paymentType: optional(toId),
  /** `OK`, `LOW`, `DEPLETED`, or an unknown state. */
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
  /** How many entries were accepted; null if the marketplace did not say. */
  accepted: Amount,
  /** Null if it is invalid: the usage is stored all the same. */
  budget: Budget.nullish()
    .catch(null)
    .transform((budget) => budget ?? null),
});
export type UsageAnswer = z.infer<typeof UsageAnswer>;

export const Endpoint = z.object({
  id: Id,
  /** `ACTIVE` or `DISABLED`. */
  status: z.string(),
  url: lenient(z.string().max(maxUrlChars)),
  eventTypes: lenient(Words),
  createdAt: Instant,
  consecutiveFailures: Amount,
  disabledAt: Instant,
  disabledReason: optional(toText),
});
export type Endpoint = z.infer<typeof Endpoint>;

export interface NewEndpoint {
  /** https, or http for localhost. */
  url: string;
  eventTypes: readonly string[];
}

export interface EndpointChanges {
  url?: string;
  eventTypes?: readonly string[];
  status?: 'ACTIVE' | 'DISABLED';
}

export interface CreatedEndpoint {
  endpoint: Endpoint;
  /** The marketplace shows it only this once. */
  secret: string;
}

/** A payment that a person must settle at the marketplace. */
export interface PendingPayment {
  /** The id of its invoice. */
  id: string;
  invoiceNumber: number | null;
  amountUsd: number | null;
  createdAt: string | null;
  /** Null if the payment is not for a job, or the marketplace does not say. */
  jobId: string | null;
  /** Where a person settles it (http or https); the marketplace's site if the marketplace names no page. */
  url: string;
}

/** An instruction manual as it was published for trainers. A publication never changes. */
export interface Publication {
  manualId: string;
  publicationNumber: number;
  /** In reading order: each before the pages below it. */
  pages: PublishedPage[];
}

export interface PublishedPage {
  title: string;
  /** 1 for a page at the top. */
  depth: number;
  /** The canonical JSON, not validated. */
  content: unknown;
}

/** A token of the account, without its secret. */
export interface TokenRecord {
  id: string;
  name: string | null;
  scopes: string[];
  status: 'active' | 'expired' | 'revoked';
  createdAt: string | null;
  lastUsedAt: string | null;
  /** Null if it never expires. */
  expiresAt: string | null;
}

export interface NewToken {
  /** At most 120 characters. */
  name: string;
  scopes: readonly string[];
  /** In the future; null for never. */
  expiresAt: string | null;
}

export interface CreatedToken {
  token: TokenRecord;
  /** The marketplace shows it only this once. */
  secret: string;
}
