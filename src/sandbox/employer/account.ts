import type { ApprovalRecord, Audience, Binding, FeedEvent, TokenRecord } from './employer-answer-schema.ts';

/** An employer's own account, as its personal tokens see it (spec: part A). Plain records. */

export interface PersonalToken extends Omit<TokenRecord, 'preview' | 'status' | 'organizationId'> {
  value: string;
  /** How many calls were refused because it had expired or was revoked. */
  refused: number;
}

export interface Approval extends Pick<ApprovalRecord, 'id' | 'status' | 'createdAt' | 'expiresAt' | 'resolvedAt'> {
  contractId: string;
  jobId: string;
}

/** An invoice that waits for a person (spec: part A section 2.7). It is gone when it is settled. */
export interface PendingPayment {
  id: string;
  status: 'PENDING_FUNDING' | 'PENDING_PAYOUT';
  contractId: string;
  amountUsd: number;
  createdAt: string;
  invoiceNumber: number;
  /** Assumed: where it is paid; the specification shows no such field. */
  paymentUrl?: string;
}

export interface SandboxAccount {
  /** The id of its organization: its jobs and contracts have it. */
  id: string;
  ownerUserId: string;
  isClaimed: boolean;
  /** Features that are off for it, such as `public_api_webhooks`. */
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
  /** Null for a page that is below no other. */
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

/** It never changes. */
export interface Publication {
  publicationNumber: number;
  revisionNumber: number;
  audiences: Audience[];
  note: string | null;
  createdAt: string;
  /** Which revision of which page it has. */
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
