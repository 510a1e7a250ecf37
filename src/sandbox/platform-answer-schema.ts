import { z } from 'zod';

/** The answers of the platform API, as its `openapi.json` describes them. They strip nothing from an answer. */

export const scopes = [
  'project-links:read',
  'project-links:write',
  'contracts:read',
  'participants:read',
  'participants:email',
  'usage:write',
  'webhooks:manage',
] as const;

export const sandboxEventTypes = [
  'contract.started',
  'contract.ended',
  'project_link.created',
  'project_link.removed',
  'install.revoked',
  'milestone.funded',
  'milestone.budget_low',
  'milestone.budget_depleted',
] as const;
export type SandboxEventType = (typeof sandboxEventTypes)[number];

export const paymentTypes = ['PAY_PER_HOUR', 'PAY_PER_LABEL', 'FIXED_PRICE'] as const;
export type PaymentType = (typeof paymentTypes)[number];

export const provisioningModes = ['PARTNER_WEBHOOK', 'MANAGED_ADAPTER'] as const;

const Count = z.int().min(0);
const Instant = z.iso.datetime();

export const Failure = z.object({
  error: z.string(),
  code: z.enum(['BAD_REQUEST', 'UNAUTHORIZED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT', 'RATE_LIMITED', 'INTERNAL_ERROR']),
  requestId: z.string(),
  details: z.record(z.string(), z.unknown()).optional(),
});

const Install = z.object({
  id: z.string(),
  status: z.enum(['ACTIVE', 'REVOKED']),
  scopes: z.array(z.enum(scopes)),
  piiConsent: z.boolean(),
  organizationId: z.string(),
  createdAt: Instant,
  partnerApp: z.object({ id: z.string(), slug: z.string(), name: z.string() }),
  token: z.object({ id: z.string(), name: z.string(), scopes: z.array(z.enum(scopes)) }),
});
export type Install = z.infer<typeof Install>;
export const CurrentInstall = z.object({ install: Install });

const ProjectLink = z.object({
  id: z.string(),
  jobId: z.string().nullable(),
  externalProjectId: z.string(),
  externalProjectName: z.string().nullable(),
  externalProjectUrl: z.string().nullable(),
  provisioningMode: z.enum(provisioningModes),
  createdAt: Instant,
});
export type ProjectLink = z.infer<typeof ProjectLink>;
export const OneProjectLink = z.object({ projectLink: ProjectLink });
export const DeletedProjectLink = OneProjectLink.extend({ deleted: z.boolean() });
export const ProjectLinks = z.object({ projectLinks: z.array(ProjectLink) });

const Contract = z.object({
  id: z.string(),
  status: z.enum(['active', 'ended']),
  jobId: z.string(),
  title: z.string(),
  startDate: Instant,
  endDate: Instant.nullable(),
  createdAt: Instant,
  projectLinkIds: z.array(z.string()),
});
export type Contract = z.infer<typeof Contract>;
export const Contracts = z.object({ contracts: z.array(Contract) });
export const ContractPage = Contracts.extend({ nextCursor: z.string().nullable() });

const Participant = z.object({
  opentrainUserId: z.string(),
  displayName: z.string(),
  country: z.string(),
  profileUrl: z.string(),
  workEmail: z.email().optional(),
});
export type Participant = z.infer<typeof Participant>;
export const Participants = z.object({ contractId: z.string(), participants: z.array(Participant) });

const Milestone = z.object({
  id: z.string(),
  name: z.string(),
  amountUsd: z.number(),
  volume: z.number(),
  status: z.enum(['ACTIVE_FUNDED', 'COMPLETED']),
});
export type Milestone = z.infer<typeof Milestone>;

export const Budget = z.object({
  contractId: z.string(),
  paymentType: z.enum(paymentTypes).nullable(),
  state: z.enum(['OK', 'LOW', 'DEPLETED']),
  fundedVolume: z.number(),
  fundedAmountUsd: z.number(),
  consumed: z.object({ seconds: Count, hours: z.number(), labels: Count, tasks: Count }),
  consumedVolume: z.number(),
  remainingVolume: z.number(),
  consumedFraction: z.number(),
  activeMilestone: Milestone.nullable(),
  lastUsageAt: Instant.nullable(),
});
export type Budget = z.infer<typeof Budget>;
export const ReportedUsage = z.object({ contractId: z.string(), accepted: Count, budget: Budget });

const WebhookEndpoint = z.object({
  id: z.string(),
  url: z.string(),
  eventTypes: z.array(z.enum(sandboxEventTypes)),
  status: z.enum(['ACTIVE', 'DISABLED']),
  createdAt: Instant,
  consecutiveFailures: Count,
  disabledAt: Instant.nullable(),
  disabledReason: z.string().nullable(),
});
export type WebhookEndpoint = z.infer<typeof WebhookEndpoint>;
export const OneEndpoint = z.object({ webhookEndpoint: WebhookEndpoint });
export const Endpoints = z.object({ webhookEndpoints: z.array(WebhookEndpoint) });
export const CreatedEndpoint = OneEndpoint.extend({ secret: z.string(), message: z.string() });
export const DeletedEndpoint = OneEndpoint.extend({ deleted: z.boolean() });
export const Redelivery = OneEndpoint.extend({ requeued: Count, message: z.string() });

/** Schemas that `openapi.json` names among its components. */
export const components = z
  .registry<{ id: string }>()
  .add(Failure, { id: 'Error' })
  .add(Install, { id: 'Install' })
  .add(ProjectLink, { id: 'ProjectLink' })
  .add(Contract, { id: 'Contract' })
  .add(Participant, { id: 'Participant' })
  .add(Milestone, { id: 'Milestone' })
  .add(Budget, { id: 'Budget' })
  .add(WebhookEndpoint, { id: 'WebhookEndpoint' });
