import { z } from 'zod';
import { toEmail, toId, toInstantText, toText } from '../../domain/marketplace-text.ts';
import {
  Amount,
  Budget,
  Contract,
  Endpoint,
  Id,
  lenient,
  NullableId,
  optional,
  pageOf,
  recordIn,
  Secret,
  WebUrl,
  Words,
} from '../record-schema.ts';

/**
 * The assumed answers of the API for employers (spec: part A sections 2, 4.2, 4.3, 4.6 and 4.9, part B section 4.2), as
 * tolerant as the records of the port.
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
  createdAt: optional(toInstantText),
  lastUsedAt: optional(toInstantText),
  expiresAt: optional(toInstantText),
});
export type Token = z.infer<typeof Token>;

export const TokenPage = pageOf('tokens', Token);
export const CreatedTokenAnswer = z.object({ token: Secret, metadata: Token });
export const RevokedTokenAnswer = recordIn('token', Token);

// --- Contracts (part A sections 2.4 and 4.6)

export const ContractList = pageOf('contracts', Contract);

const Freelancer = z.object({ userId: Id, displayName: optional(toText) });
const WithPeople = z.object({ id: Id, freelancer: lenient(Freelancer), jobDmConversationId: optional(toId) });
export type WithPeople = z.infer<typeof WithPeople>;
export const PeopleAnswer = recordIn('contract', WithPeople);

const WithBudget = z.object({ id: Id, budget: Budget });
export type WithBudget = z.infer<typeof WithBudget>;
export const BudgetAnswer = recordIn('contract', WithBudget);

// --- The end of a contract (part A sections 2.6 and 4.6)

const Approval = z.object({
  id: Id,
  status: z.enum(['pending', 'confirmed', 'declined', 'expired']),
  contractId: NullableId,
  approvalUrl: WebUrl,
  expiresAt: optional(toInstantText),
});
export type Approval = z.infer<typeof Approval>;

export const ApprovalAnswer = recordIn('approval', Approval);

/** Without an approval, the contract has ended. */
export const EndAnswer = recordIn('approval', Approval.optional());

// --- Payments (part A sections 2.7 and 4.7)

const Payment = z.object({
  id: Id,
  viewerRole: optional(toText),
  amountUsd: Amount,
  createdAt: optional(toInstantText),
  invoiceNumber: Amount,
  job: lenient(z.object({ id: NullableId }).nullable()),
  /** The name is assumed from other URLs, because the specification shows none. */
  paymentUrl: WebUrl,
});
export type Payment = z.infer<typeof Payment>;

export const PaymentPage = pageOf('payments', Payment);

// --- The post-hire conversation (part B section 4.2). An address that is missing is not shared, for unknown reasons.

const Member = lenient(z.object({ workEmail: optional(toEmail) }));

/** Assumed: the record of a member who is found, else the text `none`. */
export const MemberAnswer = z
  .object({ membership: Member, member: Member })
  .transform(({ membership, member }) => membership?.workEmail ?? member?.workEmail ?? null);

// --- Updates feed (part A sections 2.11 and 4.10)

/** The record is kept as it came, because the inbox interprets it. */
const Update = z.unknown().transform((record) => {
  const { id, createdAt } = UpdateFields.parse(record);
  return { id, createdAt, body: JSON.stringify(record) };
});
const UpdateFields = z
  .object({ id: optional(toId), createdAt: optional(toInstantText) })
  .catch({ id: null, createdAt: null });

export const UpdatePage = pageOf('events', Update);
export type UpdatePage = z.infer<typeof UpdatePage>;

// --- Webhooks (part A sections 2.10 and 4.9)

export const WebhookPage = pageOf('webhooks', Endpoint);
export const WebhookAnswer = recordIn('webhook', Endpoint);
export const CreatedWebhookAnswer = z
  .object({ webhook: Endpoint, secret: Secret })
  .transform(({ webhook: endpoint, secret }) => ({ endpoint, secret }));

// --- Instruction manuals (part B sections 2.1 and 4.1; the envelopes are assumed)

const Count = z.int().min(0);

export const WorkspacePage = pageOf('workspaces', z.object({ id: Id }));

const Binding = z.object({ kind: z.string(), targetId: Id, precedence: z.number() });

/** If a list has no bindings, the manual has to be read on its own. */
const Manual = z.object({ id: Id, bindings: lenient(z.array(Binding)) });
export type Manual = z.infer<typeof Manual>;

export const ManualPage = pageOf('manuals', Manual);
export const ManualAnswer = recordIn('manual', Manual);

export const PublicationPage = pageOf(
  'publications',
  z.object({ publicationNumber: Count, audiences: z.array(z.string()) }),
);

const ManifestPage = z.object({
  pageId: Id,
  title: optional(toText),
  revision: Count,
  parentId: NullableId,
  position: z.number().catch(0),
  /** Null if the page is for all audiences of the publication. */
  audience: optional(toId),
  checksum: optional(toId),
});
export type ManifestPage = z.infer<typeof ManifestPage>;

export const Manifest = z.object({ publicationNumber: Count, pages: z.array(ManifestPage).max(200) });

const PageId = z
  .object({ id: lenient(Id), pageId: lenient(Id) })
  .transform(({ id, pageId }) => ({ id: id ?? pageId ?? null }));

/** The specification does not name the field of the page's id. The content is validated where it is converted. */
export const PageAnswer = recordIn(
  'page',
  PageId.and(z.object({ revision: lenient(Count), checksum: optional(toId), content: z.unknown() })),
);
