import type { Token, team } from '../../marketplace/contract/account.ts';
import type { ChangesetOperation, changesets } from '../../marketplace/contract/changesets.ts';
import type { Approval as ApprovalRecord, credits, Payment } from '../../marketplace/contract/contracts.ts';
import type { FeedType } from '../../marketplace/contract/events.ts';
import type * as instructions from '../../marketplace/contract/instructions.ts';
import type { Answer } from '../../marketplace/contract/operation.ts';
import type * as wants from '../control-request-schema.ts';
import type { Wanted } from '../parse-request.ts';

/** An employer's own account, as its personal tokens see it (spec: part A). */

export interface PersonalToken extends Omit<Token, 'status' | 'preview' | 'organizationId'> {
  value: string;
  /** How many calls were refused because it had expired or was revoked. */
  refused: number;
}

/** An event of the feed, the same as in webhook deliveries. */
export interface FeedEvent {
  id: string;
  type: FeedType;
  apiVersion: 'v1';
  createdAt: string;
  resourceId: string;
  jobId: string | null;
  data: Record<string, unknown>;
}

export type Audience = (typeof instructions.audiences)[number];

/** Among manuals with the same binding, the lower precedence wins. */
export type Binding = NonNullable<instructions.Manual['bindings']>[number];

/** What a person must confirm (spec: part A section 2.6). */
export interface Approval extends ApprovalRecord {
  type: 'proposal_hire' | 'milestone_fund' | 'milestone_approve' | 'contract_end';
  expiresAt: string;
}

type Team = Answer<typeof team.get>['team'];
type Member = Team['members'][number];
export type TopUp = Answer<typeof credits.getTopUp>;

export type Claim = ReturnType<typeof toClaim>;

/** How a person becomes the owner of an account that an agent registered (spec: part A section 5). @param id of the registration */
export function toClaim(id: string, token: string, expiresAt: string) {
  /** The interval is the least time between two polls. */
  return { id, token, expiresAt, intervalSeconds: 5, lastPolledAt: null as string | null };
}

/** The address of the pages for people. */
export const site = 'https://app.opentrain.ai';

/** An unsettled invoice, which a person must pay (spec: part A section 2.7). */
export interface PendingPayment extends Payment {
  contractId: string;
  amountUsd: number;
}

export type SandboxAccount = ReturnType<typeof toAccount>;

/** @param id of the organization, which its jobs and contracts have too */
export function toAccount(id: string, name: string, owner: Member, featuresOff: readonly string[] = []) {
  return {
    id,
    name,
    ownerUserId: owner.userId,
    isClaimed: true,
    /** Until the agent has the token after the claim. Undefined if a control made the account. */
    claim: undefined as Claim | undefined,
    hasCard: true,
    hasTeam: true,
    /** Disabled features, such as `public_api_webhooks`. */
    featuresOff: new Set(featuresOff),
    tokens: [] as PersonalToken[],
    approvals: [] as Approval[],
    /** Oldest first. */
    payments: [] as PendingPayment[],
    topUps: [] as TopUp[],
    /** What changed the credits, oldest first. Negative for a charge. */
    ledger: [] as Answer<typeof credits.ledger>['entries'],
    members: [owner] as [owner: Member, ...others: Member[]],
    teamInvites: [] as Team['invites'],
    feed: [] as FeedEvent[],
    workspaces: [] as Workspace[],
    /** The roles of users, by workspace. */
    roles: new Map<string, Map<string, string>>(),
    changesets: [] as Changeset[],
    manuals: [] as Manual[],
    /** The assets that pages may refer to. */
    readyAssets: new Set<string>(),
    conversations: new Map<string, Conversation>(),
    mails: [] as Mail[],
    /** The audit of reads. It is only ever appended to. */
    attachmentReads: [] as object[],
    /** When attachments were read on the timeline, by token. */
    readTimes: new Map<string, number[]>(),
  };
}

export type Workspace = Answer<typeof instructions.workspaces.get>['workspace'];

export type Changeset = Omit<Answer<typeof changesets.get>['changeset'], 'operations'> & {
  operations: readonly ChangesetOperation[];
};

/** It never changes: another one takes its place, so that every revision of the manual keeps its pages. */
export interface ManualPage {
  readonly id: string;
  /** Null for a page at the top. */
  readonly parentId: string | null;
  /** Null if it is for all audiences. */
  readonly audience: Audience | null;
  /** The pages below an archived page are archived with it. */
  readonly isArchived: boolean;
  /** Oldest first; the last is the draft. Revision 1 is the first. */
  readonly revisions: readonly PageRevision[];
}

export interface PageRevision {
  title: string;
  /** The canonical JSON. */
  content: unknown;
}

/** A publication never changes. */
export type Publication = Answer<typeof instructions.publications.create>['publication'] & {
  baseRevisionNumber: number;
  pages: instructions.ManifestPage[];
};

interface ManualRevision {
  createdAt: string;
  description: string | null;
  /** Pages with the same parent are in their order. */
  pages: readonly ManualPage[];
}

export interface Manual {
  id: string;
  workspaceId: string;
  title: string;
  audience: Audience;
  bindings: Binding[];
  /** Oldest first; the last is the head. Revision 1 is the first. */
  revisions: ManualRevision[];
  publications: Publication[];
}

export interface Conversation {
  id: string;
  jobId: string;
  contextType: 'proposal_dm' | 'job_dm' | 'channel';
  participants: string[];
  /** Oldest first. */
  messages: Message[];
  /** Why it takes no message of the employer. */
  refusal?: Wanted<'SendRefusal'>['refusal'];
}

export interface Message {
  id: string;
  senderUserId: string;
  body: string;
  sentAt: string;
  state: Wanted<'MessageState'>['state'];
  attachments: Attachment[];
}

export type Attachment = wants.NewAttachment & { id: string };

/** What is known of a mail about a message or a milestone. */
export type Mail = Omit<wants.NewMail, 'isComplained'> & {
  jobId: string;
  observedAt: string;
  complainedAt: string | null;
};
