import {
  amount,
  count,
  listOf,
  nullableText,
  type OpenapiSchema,
  oneOf,
  record,
  ref,
  text,
  trueOrFalse,
} from '../openapi-schemas.ts';
import { paymentTypes } from '../sandbox-state.ts';
import { employerEventTypes, employerScopes } from './account.ts';
import { audiences, bindingKinds } from './manual.ts';

/** The records of the employers' API, as `/openapi.json` describes them. */

const nullableAmount: OpenapiSchema = { type: ['number', 'null'] };

export const account = record({
  actor: record({ userId: text, email: text, firstName: text, lastName: text, fullName: text, userType: text }),
  token: record({
    id: text,
    label: text,
    scopes: listOf(oneOf(employerScopes)),
    ownerOrganizationId: nullableText,
  }),
  account: record({ kind: text, organizationId: nullableText, ownerUserId: nullableText, memberRole: text }),
});

export const token = record({
  id: text,
  name: text,
  preview: text,
  scopes: listOf(oneOf(employerScopes)),
  status: oneOf(['active', 'revoked']),
  organizationId: nullableText,
  createdAt: text,
  lastUsedAt: nullableText,
  expiresAt: nullableText,
  revokedAt: nullableText,
});

export const job = record({ id: text, title: text, paymentType: oneOf([...paymentTypes, null]), status: text });

const milestone = record({
  id: text,
  name: nullableText,
  description: nullableText,
  status: nullableText,
  amountUsd: nullableAmount,
  volume: nullableAmount,
  milestoneNumber: nullableAmount,
  dueDate: nullableText,
  pendingApproval: trueOrFalse,
  needsReview: trueOrFalse,
  invoiceId: nullableText,
});

const entry = {
  id: text,
  status: oneOf(['active', 'ended']),
  title: nullableText,
  jobId: nullableText,
  proposalId: nullableText,
  paymentType: oneOf([...paymentTypes, null]),
  rateUsd: nullableAmount,
  estimatedTotalUsd: nullableAmount,
  estimatedVolume: nullableAmount,
  hasActiveMilestone: trueOrFalse,
  startDate: nullableText,
  endDate: nullableText,
  createdAt: text,
  updatedAt: text,
  freelancer: record({ userId: text, displayName: text, country: text, profilePath: text }),
  milestones: listOf(milestone),
};

export const contract = record(entry);

export const contractInFull = record({ ...entry, jobDmConversationId: nullableText, budget: ref('Budget') });

export const approval = record({
  id: text,
  type: text,
  status: oneOf(['pending', 'confirmed', 'declined', 'expired']),
  contractId: nullableText,
  milestoneId: nullableText,
  jobId: nullableText,
  proposalId: nullableText,
  approvalUrl: text,
  expiresAt: text,
  resolvedAt: nullableText,
  result: { type: ['object', 'null'] },
  createdAt: text,
});

export const payment = record(
  {
    id: text,
    status: oneOf(['PENDING_FUNDING', 'PENDING_PAYOUT']),
    invoiceKind: oneOf(['FUNDING', 'PAYOUT']),
    viewerRole: oneOf(['EMPLOYER', 'FREELANCER', 'BOTH']),
    amountUsd: nullableAmount,
    createdAt: text,
    invoiceNumber: { type: ['integer', 'null'] },
    job: record({ id: nullableText, title: nullableText }),
    milestone: record({ id: nullableText, name: nullableText }),
    paymentUrl: text,
  },
  ['paymentUrl'],
);

const present = { userId: text, contractId: text, displayName: text, role: text, workEmail: nullableText };

export const member: OpenapiSchema = { anyOf: [record(present, ['workEmail']), oneOf(['none'])] };

export const webhook = record({
  id: text,
  url: text,
  eventTypes: listOf(oneOf(employerEventTypes)),
  status: oneOf(['ACTIVE', 'DISABLED']),
  createdAt: text,
  disabledAt: nullableText,
  disabledReason: nullableText,
});

const event = record({
  id: text,
  type: oneOf(employerEventTypes),
  apiVersion: oneOf(['v1']),
  createdAt: text,
  resourceId: text,
  jobId: nullableText,
  data: { type: 'object' },
});

export const manual = record({
  id: text,
  title: text,
  audience: oneOf(audiences),
  bindings: listOf(record({ kind: oneOf(bindingKinds), targetId: text, precedence: amount })),
  head: record({ revisionNumber: count }),
});

export const publication = record({
  publicationNumber: count,
  baseRevisionNumber: count,
  audiences: listOf(oneOf(audiences)),
  note: nullableText,
  createdAt: text,
});

const frozen = { pageId: text, title: text, revision: count, checksum: text };

export const manifest = record({
  publicationNumber: count,
  revisionNumber: count,
  pages: listOf(record({ ...frozen, parentId: nullableText, position: count, audience: oneOf(audiences) })),
});

export const page = record({ ...frozen, content: { type: 'object' } });

/** How a list is continued. */
export const paged = { nextCursor: nullableText };

export const updates = record({ events: listOf(event), ...paged, hasMore: trueOrFalse });
