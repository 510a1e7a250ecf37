import { z } from 'zod';
import { toEmail, toId, toInstantText, toText } from '../../domain/marketplace-text.ts';
import { Budget } from '../http/budget-schema.ts';
import {
  Amount,
  Id,
  Instant,
  lenient,
  maxUrlChars,
  NullableId,
  optional,
  paging,
  WebUrl,
  Words,
} from '../http/fields-schema.ts';

/**
 * Every shape that is assumed of the answers to an employer's own token (spec: part A sections 2, 4.2, 4.3, 4.6 and 4.9,
 * part B section 4.2). As tolerant as those of the platform API.
 */

// --- Account (part A section 4.3)

export const Account = z.object({
  actor: z.object({ userId: Id }),
  token: z.object({ id: NullableId, label: optional(toText), scopes: Words }),
  account: z.object({ organizationId: NullableId, ownerUserId: NullableId }),
});
export type Account = z.infer<typeof Account>;

// --- Tokens (part A sections 2.1 and 4.2)

const Token = z.object({
  id: Id,
  name: optional(toText),
  scopes: Words,
  /** `active` or `revoked`; assumed: it stays `active` when it expires, or becomes `expired`. */
  status: z.string(),
  createdAt: lenient(Instant),
  lastUsedAt: lenient(Instant),
  expiresAt: lenient(Instant),
});
export type Token = z.infer<typeof Token>;

export const TokenList = z.object({ tokens: z.array(Token), ...paging });

export const CreatedTokenAnswer = z.object({
  token: z.string().regex(/^[\x21-\x7e]{8,1000}$/),
  metadata: Token,
});
export type CreatedTokenAnswer = z.infer<typeof CreatedTokenAnswer>;

export const RevokedTokenAnswer = z.object({ token: Token });
export type RevokedTokenAnswer = z.infer<typeof RevokedTokenAnswer>;

// --- Contracts (part A sections 2.4 and 4.6)

const Freelancer = z.object({ userId: Id, displayName: optional(toText) });

const contract = {
  id: Id,
  status: z.string(),
  title: optional(toText),
  jobId: NullableId,
  startDate: lenient(Instant),
  endDate: lenient(Instant),
  createdAt: lenient(Instant),
};

const Contract = z.object(contract);
export type Contract = z.infer<typeof Contract>;

export const ContractList = z.object({ contracts: z.array(Contract), ...paging });

export const ContractPeople = z.object({
  contract: z.object({ id: Id, freelancer: lenient(Freelancer), jobDmConversationId: optional(toId) }),
});

export const ContractBudget = z.object({ contract: z.object({ id: Id, budget: Budget }) });

// --- The end of a contract (part A sections 2.6 and 4.6)

const Approval = z.object({
  id: Id,
  status: z.enum(['pending', 'confirmed', 'declined', 'expired']),
  contractId: NullableId,
  approvalUrl: WebUrl,
  expiresAt: lenient(Instant),
});

export const ApprovalAnswer = z.object({ approval: Approval });
export type ApprovalAnswer = z.infer<typeof ApprovalAnswer>;

/** Without an approval it has ended. */
export const EndAnswer = z.object({ approval: Approval.optional() });
export type EndAnswer = z.infer<typeof EndAnswer>;

// --- What waits for money (part A sections 2.7 and 4.7)

const JobOfPayment = lenient(z.object({ id: NullableId }).nullable());

export const Payment = z.object({
  id: Id,
  viewerRole: optional(toText),
  amountUsd: Amount,
  createdAt: lenient(Instant),
  invoiceNumber: Amount,
  job: JobOfPayment,
  /** Assumed, by the names of other addresses: none is shown. */
  paymentUrl: WebUrl,
});
export type Payment = z.infer<typeof Payment>;

export const PaymentList = z.object({ payments: z.array(Payment), ...paging });

// --- The post-hire conversation (part B section 4.2). What is not there is not shared: nothing says why.

const Member = lenient(z.object({ workEmail: optional(toEmail) }));

/** Assumed: a member who is found is a record, and where none is, the text `none` stands there. */
export const MemberAnswer = z
  .object({ membership: Member, member: Member })
  .transform(({ membership, member }) => membership?.workEmail ?? member?.workEmail ?? null);

// --- Updates feed (part A sections 2.11 and 4.10)

/** The record is kept as it came: what it means is read from the inbox. */
const Update = z.unknown().transform((record) => {
  const { id, createdAt } = UpdateFields.parse(record);
  return { id, createdAt, body: JSON.stringify(record) };
});
const UpdateFields = z
  .object({ id: optional(toId), createdAt: optional(toInstantText) })
  .catch({ id: null, createdAt: null });

export const UpdatesAnswer = z.object({ events: z.array(Update), ...paging });

// --- Webhooks (part A sections 2.10 and 4.9)

const Webhook = z.object({
  id: Id,
  status: z.string(),
  url: lenient(z.string().max(maxUrlChars)),
  eventTypes: lenient(Words),
  createdAt: lenient(Instant),
  disabledAt: lenient(Instant),
  disabledReason: optional(toText),
});
export type Webhook = z.infer<typeof Webhook>;

export const WebhookList = z.object({ webhooks: z.array(Webhook), ...paging });

export const WebhookAnswer = z.object({ webhook: Webhook });

/** The whole secret is the key, with its `whsec_`. */
export const CreatedWebhookAnswer = z.object({
  webhook: Webhook,
  secret: z.string().regex(/^[\x21-\x7e]{8,1000}$/),
});
export type CreatedWebhookAnswer = z.infer<typeof CreatedWebhookAnswer>;

/** Its body is not documented: it may be empty (204). */
export const DeletedWebhookAnswer = z.unknown();
