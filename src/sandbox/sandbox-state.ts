/** Everything the marketplace knows, as plain records. Maps keep the order of creation. */

export const scopes = [
  'project-links:read',
  'project-links:write',
  'contracts:read',
  'participants:read',
  'participants:email',
  'usage:write',
  'webhooks:manage',
] as const;
export type Scope = (typeof scopes)[number];

export const eventTypes = [
  'contract.started',
  'contract.ended',
  'project_link.created',
  'project_link.removed',
  'install.revoked',
  'milestone.funded',
  'milestone.budget_low',
  'milestone.budget_depleted',
] as const;
export type EventType = (typeof eventTypes)[number];

export const paymentTypes = ['PAY_PER_HOUR', 'PAY_PER_LABEL', 'FIXED_PRICE'] as const;
export type PaymentType = (typeof paymentTypes)[number];

export const provisioningModes = ['PARTNER_WEBHOOK', 'MANAGED_ADAPTER'] as const;

export interface Install {
  id: string;
  status: 'ACTIVE' | 'REVOKED';
  organizationId: string;
  scopes: Scope[];
  piiConsent: boolean;
  createdAt: string;
  token: { id: string; name: string; value: string; scopes: Scope[]; isRevoked: boolean };
}

/** Belongs to the employer, so it outlives an install and can be linked again after a reconnect. */
export interface Job {
  id: string;
  organizationId: string;
  title: string;
  paymentType: PaymentType | null;
}

export interface ProjectLink {
  id: string;
  installId: string;
  jobId: string | null;
  externalProjectId: string;
  externalProjectName: string | null;
  externalProjectUrl: string | null;
  provisioningMode: (typeof provisioningModes)[number];
  createdAt: string;
}

export interface Trainer {
  opentrainUserId: string;
  displayName: string;
  country: string;
  profileUrl: string;
  /** Null until the marketplace has made the managed address. */
  workEmail: string | null;
}

export interface Milestone {
  id: string;
  name: string;
  amountUsd: number;
  volume: number;
  status: 'ACTIVE_FUNDED' | 'COMPLETED';
}

export interface WorkTotals {
  totalSeconds: number;
  tasksCompleted: number;
  labelsCompleted: number;
}

export type BudgetWarning = 'LOW' | 'DEPLETED';

export interface Contract {
  id: string;
  status: 'active' | 'ended';
  job: Job;
  title: string;
  startDate: string;
  endDate: string | null;
  createdAt: string;
  participants: Trainer[];
  milestones: Milestone[];
  /** Keyed by worker and day. */
  usage: Map<string, WorkTotals>;
  lastUsageAt: string | null;
  /** The warnings sent since the last funding. */
  warned: Set<BudgetWarning>;
}

export interface WebhookEndpoint {
  id: string;
  installId: string;
  url: string;
  eventTypes: EventType[];
  status: 'ACTIVE' | 'DISABLED';
  secret: string;
  createdAt: string;
  consecutiveFailures: number;
  disabledAt: string | null;
  disabledReason: string | null;
}

export interface Attempt {
  at: string;
  /** What the receiver answered, or null where it did not. */
  httpStatus: number | null;
  error: string | null;
  /** Whether the body was not the one that was signed. */
  isCorrupted: boolean;
}

export interface Delivery {
  id: string;
  /** Which of its install's deliveries it is, from 1. */
  number: number;
  endpoint: WebhookEndpoint;
  eventId: string;
  type: EventType;
  body: string;
  /** LOST: a fault kept the marketplace from ever emitting it. */
  status: 'PENDING' | 'DELIVERED' | 'FAILED' | 'DISCARDED' | 'LOST';
  attempts: Attempt[];
  /** Failed attempts since it was queued or queued again. */
  failures: number;
  /** On the sandbox's timeline, in milliseconds. */
  dueAtMs: number;
  /** How long after it is delivered a fault sends it again, or null. */
  repeatAfterMs: number | null;
}

export interface SandboxState {
  installs: Map<string, Install>;
  jobs: Map<string, Job>;
  links: Map<string, ProjectLink>;
  trainers: Map<string, Trainer>;
  contracts: Map<string, Contract>;
  endpoints: Map<string, WebhookEndpoint>;
  deliveries: Map<string, Delivery>;
}

export function createSandboxState(): SandboxState {
  return {
    installs: new Map(),
    jobs: new Map(),
    links: new Map(),
    trainers: new Map(),
    contracts: new Map(),
    endpoints: new Map(),
    deliveries: new Map(),
  };
}

export function linksOfInstall(state: SandboxState, install: Install): ProjectLink[] {
  return [...state.links.values()].filter(({ installId }) => installId === install.id);
}

/** The links on a job whose install still stands: those that hear of what happens to it. */
export function liveLinksOfJob(state: SandboxState, job: Job): { link: ProjectLink; install: Install }[] {
  return [...state.links.values()].flatMap((link) => {
    const install = state.installs.get(link.installId);
    return link.jobId === job.id && install?.status === 'ACTIVE' ? [{ link, install }] : [];
  });
}

export function endpointsOfInstall(state: SandboxState, install: Install): WebhookEndpoint[] {
  return [...state.endpoints.values()].filter(({ installId }) => installId === install.id);
}

export function deliveriesOfEndpoint(state: SandboxState, endpoint: WebhookEndpoint): Delivery[] {
  return [...state.deliveries.values()].filter((delivery) => delivery.endpoint === endpoint);
}
