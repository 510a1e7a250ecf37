import { AppError } from '../domain/errors.ts';
import type { platformEventTypes } from '../domain/event.ts';
import type { contracts } from '../marketplace/contract/contracts.ts';
import type { FeedType } from '../marketplace/contract/events.ts';
import type { proposals } from '../marketplace/contract/hiring.ts';
import type { DraftUpdate, Proposal as ProposalRecord } from '../marketplace/contract/jobs.ts';
import type { Answer } from '../marketplace/contract/operation.ts';
import type { Link, platformContracts, platformScopes, provisioningModes } from '../marketplace/contract/platform.ts';
import type { Endpoint, paymentTypes } from '../marketplace/contract/records.ts';
import type { Reason } from '../marketplace/contract/refusals.ts';
import type { SandboxAccount } from './employer/account.ts';

/** Everything the marketplace knows. Maps keep the order of creation. */

export interface SandboxInstall {
  id: string;
  status: 'ACTIVE' | 'REVOKED';
  scopes: PlatformScope[];
  piiConsent: boolean;
  organizationId: string;
  createdAt: string;
  token: { id: string; name: string; scopes: PlatformScope[]; value: string; isRevoked: boolean };
}

type PlatformScope = (typeof platformScopes)[number];
export type PaymentType = (typeof paymentTypes)[number];
export type PlatformEventType = (typeof platformEventTypes)[number];

/** A job belongs to the employer, so it can be linked again after a reconnect. */
export type Job = ReturnType<typeof toJob>;

/** @param idempotencyKey of the request that made the draft */
export function toJob(id: string, organizationId: string, createdAt: string, idempotencyKey: string | undefined) {
  return {
    id,
    organizationId,
    title: 'Untitled',
    paymentType: null as PaymentType | null,
    status: 'DRAFT' as 'DRAFT' | 'OPEN' | 'CLOSED',
    fields: {} as DraftUpdate,
    createdAt,
    updatedAt: createdAt,
    /** By the API. Null for a draft, and for a job that a control made. */
    publishedAt: null as string | null,
    idempotencyKey,
  };
}

export interface SandboxLink extends Link {
  installId: string;
  jobId: string | null;
  provisioningMode: (typeof provisioningModes)[number];
}

/** Without a work address until the marketplace has made it. */
export type Trainer = Answer<typeof platformContracts.participants>['participants'][number] & { displayName: string };

/** For a job of the account. */
export interface Proposal extends ProposalRecord {
  job: Job;
  trainer: Trainer;
  rateUsd: number;
  /** By an AI. It is going on while it has no score. */
  interview: Answer<typeof proposals.interview>['interview'] | null;
}

export interface WorkTotals {
  totalSeconds: number;
  tasksCompleted: number;
  labelsCompleted: number;
}

export type BudgetWarning = 'LOW' | 'DEPLETED';

export type Milestone = Answer<typeof contracts.createMilestone>['milestone'] & {
  status: 'NOT_FUNDED' | 'ACTIVE_FUNDED' | 'COMPLETED';
  amountUsd: number;
  volume: number;
};

export type SandboxContract = ReturnType<typeof toContract>;

/** @param proposal undefined if a control hired */
export function toContract(id: string, job: Job, createdAt: string, proposal: Proposal | undefined) {
  return {
    id,
    status: 'active' as 'active' | 'ended',
    title: job.title,
    startDate: createdAt,
    endDate: null as string | null,
    createdAt,
    job,
    proposal,
    participants: [] as Trainer[],
    formerParticipants: [] as { userId: string; removedAt: string }[],
    milestones: [] as Milestone[],
    /** By trainer and day, such as `usr_1 2026-03-15`. */
    usage: new Map<string, WorkTotals>(),
    lastUsageAt: null as string | null,
    /** The warnings sent since the last funding. */
    warned: new Set<BudgetWarning>(),
  };
}

/** Receives the events of an install or an employer's account. */
export interface SandboxEndpoint extends Endpoint {
  url: string;
  eventTypes: (PlatformEventType | FeedType)[];
  consecutiveFailures: number;
  /** The id of the install or of the account. */
  installId: string;
  /** Which API it was created with. Both sign alike, but give up differently. */
  audience: 'platform' | 'employer';
  secret: string;
}

export interface Attempt {
  at: string;
  /** Null if the receiver did not answer. */
  httpStatus: number | null;
  error: string | null;
  /** Whether the sent body differs from the signed one. */
  isCorrupted: boolean;
}

export type Delivery = ReturnType<typeof toDelivery>;

interface Sent {
  id: string;
  /** Its number among the deliveries of its install, from 1. */
  number: number;
  endpoint: SandboxEndpoint;
  eventId: string;
  type: PlatformEventType | FeedType;
  body: string;
}

export function toDelivery(sent: Sent) {
  return {
    ...sent,
    /** `LOST`: a fault prevented the marketplace from sending it. */
    status: 'PENDING' as 'PENDING' | 'DELIVERED' | 'FAILED' | 'DISCARDED' | 'LOST',
    attempts: [] as Attempt[],
    /** Failed attempts since it was last queued. */
    failures: 0,
    /** On the sandbox's timeline, in milliseconds. */
    dueAtMs: 0,
    /** How long after its delivery a fault resends it; null if none does. */
    repeatAfterMs: null as number | null,
  };
}

export type SandboxState = ReturnType<typeof createSandboxState>;

export function createSandboxState() {
  return {
    installs: new Map<string, SandboxInstall>(),
    /** By the id of their organization. */
    accounts: new Map<string, SandboxAccount>(),
    jobs: new Map<string, Job>(),
    links: new Map<string, SandboxLink>(),
    trainers: new Map<string, Trainer>(),
    contracts: new Map<string, SandboxContract>(),
    proposals: new Map<string, Proposal>(),
    /** By the job and the freelancer. */
    invites: new Map<string, { id: string; createdAt: string }>(),
    /** The people who cannot be hired or invited, and why. */
    unhireable: new Map<string, Reason>(),
    /** Why no agent can register at present. */
    registrationRefusal: null as Reason | null,
    endpoints: new Map<string, SandboxEndpoint>(),
    deliveries: new Map<string, Delivery>(),
    /** Trainers who share their work address with no employer. For platforms, the consent of the install decides. */
    unsharedWorkEmails: new Set<string>(),
    /** The answers of requests with an Idempotency-Key. */
    answers: new Map<string, { digest: string; answer: object }>(),
  };
}

/** @throws AppError `not_found` that names the `kind` of record */
export function findIn<T>(records: ReadonlyMap<string, T>, kind: string, id: string): T {
  const found = records.get(id);
  if (found === undefined) throw new AppError('not_found', `No ${kind} ${id}`);
  return found;
}

/** A record of any account. @throws AppError `not_found` that names the `kind` of record */
export function findOwned<T extends { id: string }>(
  { accounts }: SandboxState,
  kind: string,
  id: string,
  listOf: (account: SandboxAccount) => readonly T[],
): { account: SandboxAccount; found: T } {
  for (const account of accounts.values()) {
    const found = listOf(account).find((one) => one.id === id);
    if (found !== undefined) return { account, found };
  }
  throw new AppError('not_found', `No ${kind} ${id}`);
}

/** The account of the employer who offers the contract's job, if there is one. */
export function accountOf(state: SandboxState, { job }: SandboxContract): SandboxAccount | undefined {
  return state.accounts.get(job.organizationId);
}

/** A contract that a control made has an id of its own, without a proposal. */
export function proposalIdOf({ id, proposal }: SandboxContract): string {
  return proposal?.id ?? `prp_${id}`;
}

export function linksOfInstall(state: SandboxState, install: SandboxInstall): SandboxLink[] {
  return [...state.links.values()].filter(({ installId }) => installId === install.id);
}

/** The links of a job whose install is ACTIVE, which get the events about the job. */
export function liveLinksOfJob(state: SandboxState, job: Job): { link: SandboxLink; install: SandboxInstall }[] {
  return [...state.links.values()].flatMap((link) => {
    const install = state.installs.get(link.installId);
    return link.jobId === job.id && install?.status === 'ACTIVE' ? [{ link, install }] : [];
  });
}

export function endpointsOfInstall(state: SandboxState, install: Pick<SandboxInstall, 'id'>): SandboxEndpoint[] {
  return [...state.endpoints.values()].filter(({ installId }) => installId === install.id);
}

export function deliveriesOfEndpoint(state: SandboxState, endpoint: SandboxEndpoint): Delivery[] {
  return [...state.deliveries.values()].filter((delivery) => delivery.endpoint === endpoint);
}
