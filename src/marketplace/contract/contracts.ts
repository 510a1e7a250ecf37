import { z } from 'zod';
import { family, op } from './operation.ts';
import { Budget, ContractRecord, Freelancer, Milestone, paymentTypes } from './records.ts';
import { id, instant, name } from './requests.ts';
import { fields, lenient, listing, maybeWord, pageOf, words } from './shapes.ts';
import { Amount, AnyRecord, Flag, Id, Instant, MaybeId, NullableId, NullableInstant, Text, WebUrl } from './values.ts';

/** Contracts, milestones, approvals, credits and payments (spec: part A sections 2.4 to 2.7, 4.6 and 4.7). */

export const ApprovalStatus = z.enum(['pending', 'confirmed', 'declined', 'expired']);

export const Approval = z.object({
  id: Id,
  type: maybeWord('proposal_hire', 'milestone_fund', 'milestone_approve', 'contract_end'),
  /** A new word decides nothing. */
  status: ApprovalStatus.catch('pending'),
  ...fields(NullableId, 'contractId', 'milestoneId', 'jobId', 'proposalId'),
  approvalUrl: WebUrl,
  expiresAt: Instant,
  resolvedAt: Instant,
  result: lenient(AnyRecord.nullable()),
  createdAt: Instant,
});
export type Approval = z.infer<typeof Approval>;

const MilestoneInFull = Milestone.extend({
  description: Text,
  milestoneNumber: Amount,
  dueDate: Instant,
  pendingApproval: Flag,
  needsReview: Flag,
  invoiceId: NullableId,
  createdAt: Instant,
});

const Contract = ContractRecord.extend({
  proposalId: NullableId,
  paymentType: maybeWord(...paymentTypes),
  ...fields(Amount, 'rateUsd', 'estimatedTotalUsd', 'estimatedVolume'),
  hasActiveMilestone: Flag,
  updatedAt: NullableInstant,
  freelancer: lenient(Freelancer),
  milestones: lenient(z.array(MilestoneInFull)),
});

const Asked = z.object({ approval: Approval, message: Text });
const paying = { scopes: ['payments:write'], feature: 'public_api_payments_write', needsClaim: true } as const;

export const contracts = family('contracts', { section: 'A 4.6', scopes: ['payments:read'] })({
  list: op('GET /contracts', 'list the contracts', {
    in: z.object({
      jobId: id.optional(),
      status: z.enum(['active', 'ended']).optional(),
      cursor: z.string().optional(),
    }),
    out: pageOf('contracts', Contract),
    refusals: [404],
  }),
  get: op('GET /contracts/{contractId}', 'read a contract', {
    out: z.object({
      contract: Contract.extend({
        status: Contract.shape.status.optional(),
        jobDmConversationId: MaybeId,
        budget: lenient(Budget),
      }),
    }),
    section: 'employer-api.md',
  }),
  createMilestone: op('POST /contracts/{contractId}/milestones', 'create a milestone', {
    ...paying,
    in: z.object({
      name,
      description: z.string().optional(),
      amountUsd: z.number().positive().optional(),
      volume: z.number().positive().optional(),
      dueDate: instant.optional(),
    }),
    out: z.object({ milestone: MilestoneInFull }),
    status: 201,
    reasons: ['contract_ended'],
    assumed: 'The body {name, description, amountUsd, volume, dueDate}, and a record of the milestone.',
  }),
  // A pending approval is returned again, and an ended contract is refused.
  end: op('POST /contracts/{contractId}/end', 'end a contract', {
    ...paying,
    out: z.object({
      ok: Flag,
      contractId: NullableId,
      status: lenient(words('ended')),
      approval: Approval.optional(),
      message: Text,
    }),
    reasons: ['contract_ended'],
    isFinal: true,
  }),
});

export const milestones = family('milestones', { section: 'A 4.6', ...paying })({
  fund: op('POST /milestones/{milestoneId}/fund', 'fund a milestone', {
    out: Asked,
    idempotency: 'none',
    reasons: ['payment_method_required', 'contract_ended'],
    refusals: [409],
    assumed: 'No body; 202 {approval, message}; 409 for a milestone that is funded.',
  }),
  approve: op('POST /milestones/{milestoneId}/approve', 'approve a milestone, which releases its money', {
    out: Asked,
    idempotency: 'none',
    refusals: [409],
    assumed: 'No body; 202 {approval, message}; 409 for a milestone that is not funded.',
  }),
});

export const approvals = family('approvals', { section: 'A 4.6', scopes: ['payments:read'] })({
  get: op('GET /approvals/{approvalId}', 'read an approval', { out: z.object({ approval: Approval }) }),
});

const LedgerEntry = z.object({ id: Id, type: Text, amountCents: Amount, description: Text, createdAt: Instant });
const TopUp = z.object({
  id: Id,
  status: words('PENDING', 'COMPLETED'),
  amountCents: Amount,
  ...fields(Instant, 'createdAt', 'completedAt', 'expiresAt'),
});

export const credits = family('credits', { section: 'A 4.7', scopes: ['payments:read'] })({
  topUp: op('POST /credits/top-ups', 'start a top-up of the credits', {
    ...paying,
    feature: 'public_api_credits',
    in: z.object({ amountUsd: z.number().min(10).max(10_000) }),
    aliases: { amount: 'amountUsd' },
    out: z.object({
      topUpId: Id,
      checkoutUrl: WebUrl.meta({ format: 'secret' }),
      expiresAt: Instant,
      topUp: TopUp,
      message: Text,
    }),
    status: 201,
    limits: ['10 to 10,000 USD', 'A checkout link lives 24 hours.'],
  }),
  getTopUp: op('GET /credits/top-ups/{topUpId}', 'read a top-up', { out: TopUp }),
  balance: op('GET /credits', 'read the balance of the credits', {
    out: z.object({ balanceUsd: Amount, balanceCents: Amount, currency: Text }),
    assumed: '{balanceUsd, balanceCents, currency}',
  }),
  ledger: op('GET /credits/ledger', 'list what changed the credits', {
    ...listing('entries', LedgerEntry, 50, 100),
    assumed: '{entries: [{id, type, amountCents, description, createdAt}], nextCursor}',
  }),
});

const Payment = z.object({
  id: Id,
  status: lenient(words('PENDING_FUNDING', 'PENDING_PAYOUT')),
  invoiceKind: maybeWord('FUNDING', 'PAYOUT'),
  viewerRole: maybeWord('EMPLOYER', 'FREELANCER', 'BOTH'),
  amountUsd: Amount,
  createdAt: Instant,
  invoiceNumber: Amount,
  job: lenient(z.object({ id: NullableId, title: Text }).nullable()),
  milestone: lenient(z.object({ id: NullableId, name: Text }).nullable()),
  /** The name is assumed from other URLs, because the specification shows none. */
  paymentUrl: WebUrl,
});
export type Payment = z.infer<typeof Payment>;

export const payments = family('payments', { section: 'A 4.7', scopes: ['payments:read'] })({
  pending: op('GET /payments/pending', 'list the pending payments', { out: pageOf('payments', Payment) }),
});
