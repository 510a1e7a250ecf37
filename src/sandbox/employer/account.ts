import type { ApprovalRecord, Audience, Binding, FeedEvent, TokenRecord } from './employer-answer-schema.ts';

/** An employer's own account, as its personal tokens see it (spec: part A). */

export interface PersonalToken extends Omit<TokenRecord, 'preview' | 'status' | 'organizationId'> {
  value: string;
  /** How many calls were refused because it had expired or was revoked. */
  refused: number;
}

export interface Approval extends Pick<ApprovalRecord, 'id' | 'status' | 'createdAt' | 'expiresAt' | 'resolvedAt'> {
  contractId: string;
  jobId: string;
}

/** An unsettled invoice, which a person must pay (spec: part A section 2.7). */
export interface PendingPayment {
  id: string;
  status: 'PENDING_FUNDING' | 'PENDING_PAYOUT';
  contractId: string;
  amountUsd: number;
  createdAt: string;
  invoiceNumber: number;
  /** Where it is paid. Assumed, because the specification shows no such field. */
  paymentUrl?: string;
}

export interface SandboxAccount {
  /** The id of the organization, which its jobs and contracts have too. */
  id: string;
  ownerUserId: string;
  isClaimed: boolean;
  /** Disabled features, such as `public_api_webhooks`. */
  featuresOff: Set<string>;
  tokens: PersonalToken[];
  approvals: Approval[];
  /** Oldest first. */
  payments: PendingPayment[];
  feed: FeedEvent[];
  manuals: Manual[];
}

export interface ManualPage {
  id: string;
  /** Null for a page at the top. */
  parentId: string | null;
  /** Among the pages with the same parent, from 0. */
  position: number;
  audience: Audience;
  /** Oldest first; the last is the draft. Revision 1 is the first. */
  revisions: PageRevision[];
}

export interface PageRevision {
  title: string;
  /** The canonical JSON. */
  content: unknown;
}

/** A publication never changes. */
export interface Publication {
  publicationNumber: number;
  revisionNumber: number;
  audiences: Audience[];
  note: string | null;
  createdAt: string;
  /** The revisions of its pages. */
  pages: { page: ManualPage; revision: number }[];
}

export interface Manual {
  id: string;
  title: string;
  audience: Audience;
  bindings: Binding[];
  /** Rises with each change of a page. */
  headRevision: number;
  pages: ManualPage[];
  publications: Publication[];
}
