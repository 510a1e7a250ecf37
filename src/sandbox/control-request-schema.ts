import { z } from 'zod';
import { personalScopes } from '../marketplace/contract/account.ts';
import { ApprovalStatus, contracts } from '../marketplace/contract/contracts.ts';
import { feedTypes } from '../marketplace/contract/events.ts';
import { audiences, bindingKinds, publications, workspaceRoles } from '../marketplace/contract/instructions.ts';
import { platformScopes, projectLinks } from '../marketplace/contract/platform.ts';
import { paymentTypes } from '../marketplace/contract/records.ts';
import { attachmentReasons } from '../marketplace/contract/refusals.ts';

/** The requests of the controls. Unknown keys are refused, because they are typos. */

const Scopes = z.array(z.enum(platformScopes));

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

export const NewAccount = z.strictObject({
  /** An existing employer; a new one by default. */
  organizationId: z.string().min(1).optional(),
  /** The scopes of its token; all by default. */
  scopes: z.array(z.enum(personalScopes)).optional(),
  /** True by default. */
  isClaimed: z.boolean().optional(),
  /** Such as `public_api_webhooks`; all are on by default. */
  featuresOff: z.array(z.string()).optional(),
  name: z.string().optional(),
  ownerEmail: z.email().nullable().optional(),
});
export type NewAccount = z.input<typeof NewAccount>;

export const AccountSwitches = z.strictObject({
  hasCard: z.boolean().optional(),
  hasTeam: z.boolean().optional(),
  /** Replaces those that are off. */
  featuresOff: z.array(z.string()).optional(),
});

export const Registration = z.strictObject({
  /** Null lets agents register again. */
  refusal: z.enum(['anonymous_not_enabled', 'rate_limit_exceeded']).nullable(),
});

export const NewJob = z.strictObject({
  /** Any install of the employer who offers the job, or their account. */
  installId: z.string().optional(),
  accountId: z.string().optional(),
  title: z.string().min(1).optional(),
  /** Paid per hour by default. */
  paymentType: z.enum(paymentTypes).nullable().optional(),
});

const HiredTrainer = z.strictObject({
  /** A known trainer keeps the fields that are left out. */
  opentrainUserId: z.string().min(1).optional(),
  displayName: z.string().min(1).optional(),
  country: z.string().optional(),
  /** Null if the managed address does not exist yet. */
  workEmail: z.email().nullable().optional(),
});

const Interview = z.strictObject({
  /** Null while it is going on; 80 by default. */
  score: z.number().nullable().optional(),
  summary: z.string().optional(),
  messages: z.array(z.strictObject({ role: z.enum(['interviewer', 'candidate']), content: z.string() })),
});

export const NewProposal = z.strictObject({
  jobId: z.string(),
  /** A new trainer by default. */
  trainer: HiredTrainer.optional(),
  coverLetter: z.string().optional(),
  /** An hour, a label or the whole, depending on how the job is paid; 20 by default. */
  rateUsd: z.number().positive().optional(),
  isNotFit: z.boolean().optional(),
  /** Why this person cannot be hired or invited; they can by default. */
  refusal: z.enum(['not_a_freelancer', 'freelancer_unavailable']).optional(),
  /** None by default. */
  interview: Interview.optional(),
});

export const Hire = z.strictObject({
  jobId: z.string(),
  /** The title of the job by default. */
  title: z.string().min(1).optional(),
  /** Now by default. */
  startDate: z.iso.datetime().optional(),
  /** One new trainer by default. The events name the first. */
  trainers: z.array(HiredTrainer).min(1).optional(),
});

export const End = z.strictObject({
  /** Now by default. */
  endDate: z.iso.datetime().optional(),
});

/** Hours or labels, depending on how the job is paid: 10 for 200 US dollars by default. */
export const Funding = contracts.createMilestone.in.partial().strict();

export const Replacement = z.strictObject({
  /** The `opentrainUserId` of the trainer who leaves. */
  leaves: z.string(),
  /** None by default: a contract may have no trainer. */
  joins: HiredTrainer.optional(),
});

const linkFields = { jobId: true, externalProjectId: true, provisioningMode: true } as const;
/** Fields that are left out keep their value. */
export const Relink = projectLinks.create.in.pick(linkFields).partial().strict();

/** Fields that are left out keep their value. */
export const WorkEmail = z.strictObject({
  /** Null if the managed address does not exist yet. */
  workEmail: z.email().nullable().optional(),
  /** Whether employers see it; true by default. */
  isShared: z.boolean().optional(),
});

export const FeedNews = z.strictObject({
  type: z.enum(feedTypes),
  resourceId: z.string(),
  jobId: z.string().nullable().default(null),
  data: z.record(z.string(), z.unknown()),
});

export const Resolve = z
  .strictObject({ status: ApprovalStatus.exclude(['pending']) })
  .transform(({ status }) => status);
export type Resolution = z.output<typeof Resolve>;

export const Bill = z.strictObject({
  /** 200 by default. */
  amountUsd: z.number().nonnegative().optional(),
  /** Waits to be funded by default. */
  status: z.enum(['PENDING_FUNDING', 'PENDING_PAYOUT']).optional(),
  /** None by default, as the specification shows none. */
  paymentUrl: z.string().optional(),
});

/** Paid by default. */
export const Settle = z.strictObject({ outcome: z.enum(['paid', 'cancelled']).optional() });

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
  /** `JOB` by default. */
  kind: z.enum(bindingKinds).optional(),
  targetId: z.string(),
  precedence: z.int().optional(),
});
export type NewBinding = z.input<typeof NewBinding>;

export const NewManual = z.strictObject({
  title: z.string().optional(),
  audience: z.enum(audiences).optional(),
  bindings: z.array(NewBinding).optional(),
  pages: z.array(NewPage).min(1),
});

/** Replaces all bindings of a manual. */
export const NewBindings = NewManual.pick({ bindings: true }).required();

/** Fields that are left out keep their value. */
export const PageEdit = z.strictObject({ title: z.string().optional(), content: z.unknown().optional() });

/** The present pages for workers by default. */
export const NewPublication = publications.create.in.partial().strict();

/** Why a conversation takes no message of the employer; null if it does. */
export const SendRefusal = z.strictObject({
  refusal: z
    .enum(['employer_first_message_required', 'message_policy_blocked', 'read_only_conversation', 'message_blocked'])
    .nullable(),
});

const NewAttachment = z.strictObject({
  fileName: z.string().default('notes.txt'),
  contentBase64: z.base64().default(''),
  /** What the sender says that it is. */
  declaredType: z.string().nullable().default(null),
  source: z.enum(['PRIVATE_STORAGE', 'LEGACY_EXTERNAL']).default('PRIVATE_STORAGE'),
  /** Why its bytes cannot be read; null if they can. */
  refusal: z.enum(attachmentReasons).nullable().default(null),
});
export type NewAttachment = z.output<typeof NewAttachment>;

export const NewMessage = z.strictObject({
  /** The first trainer in the conversation by default. */
  senderUserId: z.string().optional(),
  body: z.string().default('Hello'),
  attachments: z.array(NewAttachment).default([]),
});

export const MessageState = z.strictObject({ state: z.enum(['SENT', 'DELETED', 'HIDDEN', 'SENDER_HIDDEN']) });

export const NewChannel = z.strictObject({ participants: z.array(z.string()) });

export const NewMail = z.strictObject({
  messageId: z.string().nullable().default(null),
  milestoneId: z.string().nullable().default(null),
  recipientUserId: z.string().default('usr_unknown'),
  /** It is only shown masked. */
  recipient: z.email().default('trainer@example.com'),
  status: z.enum(['SENT', 'DELIVERED', 'UNKNOWN']).default('SENT'),
  bccCount: z.int().min(0).default(0),
  /** The recipient complained about it now. That is evidence of its own, beside the status. */
  isComplained: z.boolean().default(false),
});
export type NewMail = z.output<typeof NewMail>;

export const RoleOfCaller = z.strictObject({ role: z.enum(workspaceRoles).nullable() });

export const Consent = z.strictObject({ piiConsent: z.boolean() }).transform(({ piiConsent }) => piiConsent);

export const Advance = z.strictObject({ ms: z.number().nonnegative() }).transform(({ ms }) => ms);

export const Nothing = z.strictObject({});
