/** An employer's own account, as its personal tokens see it (spec: part A). Plain records. */

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

/** The scope that each event needs, in the feed and for a webhook (spec: part A section 6). */
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

export interface PersonalToken {
  id: string;
  name: string;
  value: string;
  scopes: EmployerScope[];
  createdAt: string;
  lastUsedAt: string | null;
  expiresAt: string | null;
  revokedAt: string | null;
  /** How many calls were refused because it had expired or was revoked. */
  refused: number;
}

export interface Approval {
  id: string;
  status: 'pending' | 'confirmed' | 'declined' | 'expired';
  contractId: string;
  jobId: string;
  createdAt: string;
  expiresAt: string;
  resolvedAt: string | null;
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

/** An event of the feed, as its webhook deliveries have it too. */
export interface FeedEvent {
  id: string;
  type: EmployerEventType;
  apiVersion: 'v1';
  createdAt: string;
  resourceId: string;
  jobId: string | null;
  data: Record<string, unknown>;
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

/** Of the instruction manuals (spec: part B section 2.1). */
export const audiences = ['ADMIN', 'CONTRIBUTOR', 'REVIEWER', 'WORKER'] as const;
export type Audience = (typeof audiences)[number];

export const bindingKinds = ['JOB', 'FOLDER', 'WORK_PROJECT'] as const;

/** Among manuals that are bound alike, the lower precedence wins. */
export interface Binding {
  kind: (typeof bindingKinds)[number];
  targetId: string;
  precedence: number;
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
