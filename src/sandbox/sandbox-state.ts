import { AppError } from '../domain/errors.ts';
import type { SandboxAccount } from './employer/account.ts';
import type { EmployerEventType } from './employer/employer-answer-schema.ts';
import type {
  Contract,
  Install,
  Milestone,
  Participant,
  PaymentType,
  ProjectLink,
  SandboxEventType,
  WebhookEndpoint,
} from './platform-answer-schema.ts';

/** Everything the marketplace knows. Maps keep the order of creation. */

export interface SandboxInstall extends Omit<Install, 'partnerApp' | 'token'> {
  token: Install['token'] & { value: string; isRevoked: boolean };
}

/** A job belongs to the employer, so it can be linked again after a reconnect. */
export interface Job {
  id: string;
  organizationId: string;
  title: string;
  paymentType: PaymentType | null;
}

export interface SandboxLink extends ProjectLink {
  installId: string;
}

export interface Trainer extends Omit<Participant, 'workEmail'> {
  /** Null until the marketplace has made the managed address. */
  workEmail: string | null;
}

export interface WorkTotals {
  totalSeconds: number;
  tasksCompleted: number;
  labelsCompleted: number;
}

export type BudgetWarning = 'LOW' | 'DEPLETED';

export interface SandboxContract extends Omit<Contract, 'jobId' | 'projectLinkIds'> {
  job: Job;
  participants: Trainer[];
  milestones: Milestone[];
  /** By trainer and day, such as `usr_1 2026-03-15`. */
  usage: Map<string, WorkTotals>;
  lastUsageAt: string | null;
  /** The warnings sent since the last funding. */
  warned: Set<BudgetWarning>;
}

/** Receives the events of an install or an employer's account. */
export interface SandboxEndpoint extends Omit<WebhookEndpoint, 'eventTypes'> {
  /** The id of the install or of the account. */
  installId: string;
  /** Which API it was created with. Both sign alike, but give up differently. */
  audience: 'platform' | 'employer';
  eventTypes: (SandboxEventType | EmployerEventType)[];
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

export interface Delivery {
  id: string;
  /** Its number among the deliveries of its install, from 1. */
  number: number;
  endpoint: SandboxEndpoint;
  eventId: string;
  type: SandboxEventType | EmployerEventType;
  body: string;
  /** `LOST`: a fault prevented the marketplace from sending it. */
  status: 'PENDING' | 'DELIVERED' | 'FAILED' | 'DISCARDED' | 'LOST';
  attempts: Attempt[];
  /** Failed attempts since it was last queued. */
  failures: number;
  /** On the sandbox's timeline, in milliseconds. */
  dueAtMs: number;
  /** How long after its delivery a fault resends it; null if none does. */
  repeatAfterMs: number | null;
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
    endpoints: new Map<string, SandboxEndpoint>(),
    deliveries: new Map<string, Delivery>(),
    /** Trainers who share their work address with no employer. For platforms, the consent of the install decides. */
    unsharedWorkEmails: new Set<string>(),
  };
}

/** @throws AppError `not_found` that names the `kind` of record */
export function findIn<T>(records: ReadonlyMap<string, T>, kind: string, id: string): T {
  const found = records.get(id);
  if (found === undefined) throw new AppError('not_found', `No ${kind} ${id}`);
  return found;
}

/** The account of the employer who offers the contract's job, if there is one. */
export function accountOf(state: SandboxState, { job }: SandboxContract): SandboxAccount | undefined {
  return state.accounts.get(job.organizationId);
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
