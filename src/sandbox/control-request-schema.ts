import { z } from 'zod';
import { audiences, bindingKinds, employerEventTypes, employerScopes } from './employer/employer-answer-schema.ts';
import { paymentTypes, provisioningModes, scopes } from './platform-answer-schema.ts';

/** The requests of the controls. Unknown keys are refused, because they are typos. */

const Scopes = z.array(z.enum(scopes));

export const NewInstall = z.strictObject({
  /** An existing employer; a new one by default. */
  organizationId: z.string().min(1).optional(),
  /** All scopes by default. */
  scopes: Scopes.optional(),
  /** The scopes of its token; those of the install by default. */
  tokenScopes: Scopes.optional(),
  /** Given by default. */
  piiConsent: z.boolean().optional(),
});
export type NewInstall = z.input<typeof NewInstall>;

export const NewAccount = z.strictObject({
  /** An existing employer; a new one by default. */
  organizationId: z.string().min(1).optional(),
  /** The scopes of its token; all by default. */
  scopes: z.array(z.enum(employerScopes)).optional(),
  /** True by default. */
  isClaimed: z.boolean().optional(),
  /** Such as `public_api_webhooks`; all are on by default. */
  featuresOff: z.array(z.string()).optional(),
});
export type NewAccount = z.input<typeof NewAccount>;

export const NewJob = z.strictObject({
  /** Any install of the employer who offers the job, or their account. */
  installId: z.string().optional(),
  accountId: z.string().optional(),
  title: z.string().min(1).optional(),
  /** Paid per hour by default. */
  paymentType: z.enum(paymentTypes).nullable().optional(),
});
export type NewJob = z.input<typeof NewJob>;

export const HiredTrainer = z.strictObject({
  /** A known trainer keeps the fields that are left out. */
  opentrainUserId: z.string().min(1).optional(),
  displayName: z.string().min(1).optional(),
  country: z.string().optional(),
  /** Null if the managed address does not exist yet. */
  workEmail: z.email().nullable().optional(),
});
export type HiredTrainer = z.input<typeof HiredTrainer>;

export const Hire = z.strictObject({
  jobId: z.string(),
  /** The title of the job by default. */
  title: z.string().min(1).optional(),
  /** Now by default. */
  startDate: z.iso.datetime().optional(),
  /** One new trainer by default. The events name the first. */
  trainers: z.array(HiredTrainer).min(1).optional(),
});
export type Hire = z.input<typeof Hire>;

export const End = z.strictObject({
  /** Now by default. */
  endDate: z.iso.datetime().optional(),
});
export type End = z.input<typeof End>;

export const Funding = z.strictObject({
  name: z.string().min(1).optional(),
  /** In hours or labels, depending on how the job is paid; 10 by default. */
  volume: z.number().nonnegative().optional(),
  /** 200 by default. */
  amountUsd: z.number().nonnegative().optional(),
});
export type Funding = z.input<typeof Funding>;

export const Replacement = z.strictObject({
  /** The `opentrainUserId` of the trainer who leaves. */
  leaves: z.string(),
  /** None by default: a contract may have no trainer. */
  joins: HiredTrainer.optional(),
});
export type Replacement = z.input<typeof Replacement>;

/** Fields that are left out keep their value. */
export const Relink = z.strictObject({
  jobId: z.string().min(1).nullable().optional(),
  externalProjectId: z.string().min(1).max(200).optional(),
  provisioningMode: z.enum(provisioningModes).optional(),
});
export type Relink = z.input<typeof Relink>;

/** Fields that are left out keep their value. */
export const WorkEmail = z.strictObject({
  /** Null if the managed address does not exist yet. */
  workEmail: z.email().nullable().optional(),
  /** Whether employers see it; true by default. */
  isShared: z.boolean().optional(),
});
export type WorkEmail = z.input<typeof WorkEmail>;

export const FeedNews = z.strictObject({
  type: z.enum(employerEventTypes),
  resourceId: z.string(),
  jobId: z.string().nullable().default(null),
  data: z.record(z.string(), z.unknown()),
});
export type FeedNews = z.input<typeof FeedNews>;

export const Resolve = z
  .strictObject({ status: z.enum(['confirmed', 'declined', 'expired']) })
  .transform(({ status }) => status);

export const Bill = z.strictObject({
  /** 200 by default. */
  amountUsd: z.number().nonnegative().optional(),
  /** Waits to be funded by default. */
  status: z.enum(['PENDING_FUNDING', 'PENDING_PAYOUT']).optional(),
  /** None by default, as the specification shows none. */
  paymentUrl: z.string().optional(),
});
export type Bill = z.input<typeof Bill>;

/** Paid by default. */
export const Settle = z.strictObject({ outcome: z.enum(['paid', 'cancelled']).optional() });
export type Settle = z.input<typeof Settle>;

const NewPage = z.strictObject({
  title: z.string(),
  /** The canonical JSON; an empty document by default. */
  content: z.unknown().optional(),
  /** That of the manual by default. */
  audience: z.enum(audiences).optional(),
  /** The number of the earlier page that is its parent, from 0; none by default. */
  parent: z.int().min(0).optional(),
});

const NewBinding = z.strictObject({
  kind: z.enum(bindingKinds).default('JOB'),
  targetId: z.string(),
  precedence: z.int().default(0),
});

export const NewManual = z.strictObject({
  title: z.string().default('How to label'),
  audience: z.enum(audiences).default('WORKER'),
  bindings: z.array(NewBinding).default([]),
  pages: z.array(NewPage).min(1),
});
export type NewManual = z.input<typeof NewManual>;

/** Replaces all bindings of a manual. */
export const NewBindings = z.strictObject({ bindings: z.array(NewBinding) });
export type NewBindings = z.input<typeof NewBindings>;

/** Fields that are left out keep their value. */
export const PageEdit = z.strictObject({ title: z.string().optional(), content: z.unknown().optional() });
export type PageEdit = z.input<typeof PageEdit>;

export const NewPublication = z.strictObject({
  audiences: z.array(z.enum(audiences)).min(1).default(['WORKER']),
  note: z.string().nullable().default(null),
});
export type NewPublication = z.input<typeof NewPublication>;

export const Consent = z.strictObject({ piiConsent: z.boolean() }).transform(({ piiConsent }) => piiConsent);

export const Advance = z.strictObject({ ms: z.number().nonnegative() }).transform(({ ms }) => ms);

export const Nothing = z.strictObject({});
