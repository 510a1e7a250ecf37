import { z } from 'zod';
import { Budget, paymentTypes } from '../platform-answer-schema.ts';

/** The answers of the employers' API, as its `openapi.json` describes them. They strip nothing from an answer. */

export const employerScopes = [
  'jobs:read',
  'jobs:write',
  'proposals:read',
  'messages:read',
  'payments:read',
  'payments:write',
  'team:read',
  'webhooks:manage',
  'participant_work_email:read',
  'instructions:read',
] as const;
export type EmployerScope = (typeof employerScopes)[number];

/** The scope that each event type needs, in the feed and for a webhook (spec: part A section 6). */
export const scopeOfEvent = {
  'contract.created': 'payments:read',
  'milestone.status_changed': 'payments:read',
  'payment.pending': 'payments:read',
  'approval.confirmed': 'payments:read',
  'contract.budget_state_changed': 'payments:read',
  'proposal.received': 'proposals:read',
  'proposal.status_changed': 'proposals:read',
  'message.received': 'messages:read',
} as const satisfies Record<string, EmployerScope>;
export type EmployerEventType = keyof typeof scopeOfEvent;
export const employerEventTypes = Object.keys(scopeOfEvent) as EmployerEventType[];

export const audiences = ['ADMIN', 'CONTRIBUTOR', 'REVIEWER', 'WORKER'] as const;
export type Audience = (typeof audiences)[number];

export const bindingKinds = ['JOB', 'FOLDER', 'WORK_PROJECT'] as const;

const Text = z.string();
const NullableText = z.string().nullable();
const NullableAmount = z.number().nullable();
const Count = z.int().min(0);
const Scopes = z.array(z.enum(employerScopes));
const AnyRecord = z.record(z.string(), z.unknown());

/** How a list is continued. */
const paged = { nextCursor: NullableText };

export const CurrentAccount = z.object({
  actor: z.object({ userId: Text, email: Text, firstName: Text, lastName: Text, fullName: Text, userType: Text }),
  token: z.object({ id: Text, label: Text, scopes: Scopes, ownerOrganizationId: NullableText }),
  account: z.object({ kind: Text, organizationId: NullableText, ownerUserId: NullableText, memberRole: Text }),
});

const Token = z.object({
  id: Text,
  name: Text,
  preview: Text,
  scopes: Scopes,
  status: z.enum(['active', 'revoked']),
  organizationId: NullableText,
  createdAt: Text,
  lastUsedAt: NullableText,
  expiresAt: NullableText,
  revokedAt: NullableText,
});
export type TokenRecord = z.infer<typeof Token>;
export const Tokens = z.object({ tokens: z.array(Token) });
export const CreatedToken = z.object({ token: Text, tokenType: z.enum(['bearer']), metadata: Token });
export const RevokedToken = z.object({ token: Token });

const Job = z.object({ id: Text, title: Text, paymentType: z.enum(paymentTypes).nullable(), status: Text });
export const Jobs = z.object({ jobs: z.array(Job), ...paged });

const Milestone = z.object({
  id: Text,
  name: NullableText,
  description: NullableText,
  status: NullableText,
  amountUsd: NullableAmount,
  volume: NullableAmount,
  milestoneNumber: NullableAmount,
  dueDate: NullableText,
  pendingApproval: z.boolean(),
  needsReview: z.boolean(),
  invoiceId: NullableText,
});

const Contract = z.object({
  id: Text,
  status: z.enum(['active', 'ended']),
  title: NullableText,
  jobId: NullableText,
  proposalId: NullableText,
  paymentType: z.enum(paymentTypes).nullable(),
  rateUsd: NullableAmount,
  estimatedTotalUsd: NullableAmount,
  estimatedVolume: NullableAmount,
  hasActiveMilestone: z.boolean(),
  startDate: NullableText,
  endDate: NullableText,
  createdAt: Text,
  updatedAt: Text,
  freelancer: z.object({ userId: Text, displayName: Text, country: Text, profilePath: Text }),
  milestones: z.array(Milestone),
});
export const Contracts = z.object({ contracts: z.array(Contract) });
export const ContractPage = Contracts.extend(paged);
export const OneContract = z.object({
  contract: Contract.extend({ jobDmConversationId: NullableText, budget: Budget }),
});
export const EndedContract = z.object({ ok: z.boolean(), contractId: Text, status: z.enum(['ended']) });

const Approval = z.object({
  id: Text,
  type: Text,
  status: z.enum(['pending', 'confirmed', 'declined', 'expired']),
  contractId: NullableText,
  milestoneId: NullableText,
  jobId: NullableText,
  proposalId: NullableText,
  approvalUrl: Text,
  expiresAt: Text,
  resolvedAt: NullableText,
  result: AnyRecord.nullable(),
  createdAt: Text,
});
export type ApprovalRecord = z.infer<typeof Approval>;
export const OneApproval = z.object({ approval: Approval });
export const RequestedApproval = OneApproval.extend({ message: Text });

const Payment = z.object({
  id: Text,
  status: z.enum(['PENDING_FUNDING', 'PENDING_PAYOUT']),
  invoiceKind: z.enum(['FUNDING', 'PAYOUT']),
  viewerRole: z.enum(['EMPLOYER', 'FREELANCER', 'BOTH']),
  amountUsd: NullableAmount,
  createdAt: Text,
  invoiceNumber: z.int().nullable(),
  job: z.object({ id: NullableText, title: NullableText }),
  milestone: z.object({ id: NullableText, name: NullableText }),
  paymentUrl: Text.optional(),
});
export const Payments = z.object({ payments: z.array(Payment) });

const Member = z.object({
  userId: Text,
  contractId: Text,
  displayName: Text,
  role: Text,
  workEmail: NullableText.optional(),
});
export const Membership = z.object({ membership: z.union([Member, z.enum(['none'])]) });

const Webhook = z.object({
  id: Text,
  url: Text,
  eventTypes: z.array(z.enum(employerEventTypes)),
  status: z.enum(['ACTIVE', 'DISABLED']),
  createdAt: Text,
  disabledAt: NullableText,
  disabledReason: NullableText,
});
export const OneWebhook = z.object({ webhook: Webhook });
export const Webhooks = z.object({ webhooks: z.array(Webhook) });
export const CreatedWebhook = OneWebhook.extend({ secret: Text, message: Text });

const FeedEvent = z.object({
  id: Text,
  type: z.enum(employerEventTypes),
  apiVersion: z.enum(['v1']),
  createdAt: Text,
  resourceId: Text,
  jobId: NullableText,
  data: AnyRecord,
});
/** An event of the feed, the same as in webhook deliveries. */
export type FeedEvent = z.infer<typeof FeedEvent>;
export const Updates = z.object({ events: z.array(FeedEvent), ...paged, hasMore: z.boolean() });

export const Workspaces = z.object({ workspaces: z.array(z.object({ id: Text, name: Text })), ...paged });

const Binding = z.object({ kind: z.enum(bindingKinds), targetId: Text, precedence: z.number() });
/** Among manuals with the same binding, the lower precedence wins. */
export type Binding = z.infer<typeof Binding>;

const Manual = z.object({
  id: Text,
  title: Text,
  audience: z.enum(audiences),
  bindings: z.array(Binding),
  head: z.object({ revisionNumber: Count }),
});
export const OneManual = z.object({ manual: Manual });
export const Manuals = z.object({ manuals: z.array(Manual), ...paged });

const Publication = z.object({
  publicationNumber: Count,
  baseRevisionNumber: Count,
  audiences: z.array(z.enum(audiences)),
  note: NullableText,
  createdAt: Text,
});
export const Publications = z.object({ publications: z.array(Publication), ...paged });

const frozen = { pageId: Text, title: Text, revision: Count, checksum: Text };
const ManifestPage = z.object({ ...frozen, parentId: NullableText, position: Count, audience: z.enum(audiences) });
export const Manifest = z.object({ publicationNumber: Count, revisionNumber: Count, pages: z.array(ManifestPage) });
export const OnePage = z.object({ page: z.object({ ...frozen, content: AnyRecord }) });
