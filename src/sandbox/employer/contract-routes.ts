import { AppError } from '../../domain/errors.ts';
import { isGranted } from '../api-router.ts';
import { budgetOf } from '../budget.ts';
import { endContract } from '../contract-control.ts';
import { Refusal } from '../error-response.ts';
import type { Milestone } from '../platform-answer-schema.ts';
import { accountOf, type SandboxContract } from '../sandbox-state.ts';
import type { Approval } from './account.ts';
import { expireApprovals, requestEnd } from './account-control.ts';
import {
  ContractPage,
  Contracts,
  EndedContract,
  Jobs,
  Membership,
  OneApproval,
  OneContract,
  Payments,
  RequestedApproval,
} from './employer-answer-schema.ts';
import { ContractsOfJob, MemberQuery, PageQuery } from './employer-request-schema.ts';
import {
  type EmployerCall,
  type EmployerRoute,
  findContract,
  parseFields,
  requireJob,
  toPage,
} from './employer-route.ts';

/** Jobs, contracts, trainers and payments (spec: part A, part B section 4.2). */
export const contractRoutes: readonly EmployerRoute[] = [
  { operation: 'GET /jobs/mine', scopes: ['jobs:read'], query: PageQuery, answer: Jobs, run: listJobs },
  {
    operation: 'GET /contracts',
    scopes: ['payments:read'],
    query: ContractsOfJob,
    answer: Contracts,
    page: ContractPage,
    run: listContracts,
  },
  { operation: 'GET /contracts/{id}', scopes: ['payments:read'], answer: OneContract, run: readContract },
  {
    operation: 'POST /contracts/{id}/end',
    scopes: ['payments:write'],
    feature: 'public_api_payments_write',
    needsClaim: true,
    answer: EndedContract,
    accepted: RequestedApproval,
    run: end,
  },
  { operation: 'GET /approvals/{id}', scopes: ['payments:read'], answer: OneApproval, run: readApproval },
  { operation: 'GET /payments/pending', scopes: ['payments:read'], answer: Payments, run: listPayments },
  {
    operation: 'GET /messaging/management/messaging_management.members.get',
    scopes: ['messages:read'],
    needsClaim: true,
    query: MemberQuery,
    answer: Membership,
    run: readMember,
  },
];

/** Newest first. The shape is assumed, because the specification does not show it. */
function listJobs(call: EmployerCall) {
  const { marketplace, account } = call;
  const jobs = [...marketplace.state.jobs.values()].filter(({ organizationId }) => organizationId === account.id);
  const { items, nextCursor } = toPage(call, jobs.reverse());
  return { jobs: items.map(({ id, title, paymentType }) => ({ id, title, paymentType, status: 'OPEN' })), nextCursor };
}

/** With cursors only if the marketplace is configured to have them. */
const pageSize = 50;

function listContracts(call: EmployerCall) {
  const { marketplace, account, query } = call;
  const { jobId, status, cursor } = parseFields(ContractsOfJob, query);
  if (jobId !== undefined) requireJob(call, jobId);
  const found = [...marketplace.state.contracts.values()]
    .filter((one) => accountOf(marketplace.state, one) === account)
    .filter((one) => (jobId === undefined || one.job.id === jobId) && (status === undefined || one.status === status))
    .reverse();
  if (marketplace.options.cursors !== true) return { contracts: found.map(toEntry) };
  const first = cursor === undefined ? 0 : Number(cursor);
  const next = first + pageSize;
  const contracts = found.slice(first, next).map(toEntry);
  return { contracts, nextCursor: next < found.length ? String(next) : null };
}

function readContract(call: EmployerCall) {
  const contract = findContract(call, call.id);
  const jobDmConversationId = conversationOf(contract);
  return { contract: { ...toEntry(contract), jobDmConversationId, budget: budgetOf(contract) } };
}

/** The conversation begins with the hire. */
function conversationOf({ id }: SandboxContract): string {
  return `dm_${id}`;
}

function toEntry(contract: SandboxContract) {
  const { id, status, title, job, startDate, endDate, createdAt, participants, milestones } = contract;
  const [trainer] = participants;
  return {
    id,
    status,
    title,
    jobId: job.id,
    proposalId: `prp_${id}`,
    paymentType: job.paymentType,
    rateUsd: 20,
    estimatedTotalUsd: null,
    estimatedVolume: null,
    hasActiveMilestone: milestones.some((one) => one.status === 'ACTIVE_FUNDED'),
    startDate,
    endDate,
    createdAt,
    updatedAt: endDate ?? createdAt,
    freelancer: trainer && {
      userId: trainer.opentrainUserId,
      displayName: trainer.displayName,
      country: trainer.country,
      profilePath: `/trainers/${encodeURIComponent(trainer.opentrainUserId)}`,
    },
    milestones: milestones.map(toMilestone),
  };
}

/** No work is ever submitted here, so none awaits approval. */
function toMilestone(milestone: Milestone, index: number) {
  const unknown = { description: null, dueDate: null, invoiceId: null };
  return { ...milestone, ...unknown, milestoneNumber: index + 1, pendingApproval: false, needsReview: false };
}

function end(call: EmployerCall) {
  const { marketplace, account } = call;
  const contract = findContract(call, call.id);
  const { id: contractId, job } = contract;
  if (contract.status === 'ended') {
    throw new Refusal('conflict', 'The contract has already ended', { reason: 'contract_ended' });
  }
  if (contract.milestones.some(({ status }) => status === 'ACTIVE_FUNDED')) {
    const approval = requestEnd(marketplace, account, { contractId, jobId: job.id });
    return { approval: toRecord(approval), message: 'A person must confirm the end.' };
  }
  // Without an event: only the list of contracts shows it.
  endContract(marketplace, contractId);
  return { ok: true, contractId, status: 'ended' };
}

function readApproval({ marketplace, account, id }: EmployerCall) {
  expireApprovals(marketplace, account);
  const approval = account.approvals.find((one) => one.id === id);
  if (approval !== undefined) return { approval: toRecord(approval) };
  throw new Refusal('not_found', 'There is no such approval', { resource: 'approvals', approvalId: id });
}

function toRecord(approval: Approval) {
  return {
    ...approval,
    type: 'contract_end',
    milestoneId: null,
    proposalId: null,
    approvalUrl: `https://app.opentrain.ai/approvals/${approval.id}`,
    result: approval.status === 'confirmed' ? { contractId: approval.contractId, status: 'ended' } : null,
  };
}

/** Unsettled invoices, newest first (spec: part A sections 2.7 and 4.7). */
function listPayments({ marketplace: { state }, account }: EmployerCall) {
  const payments = account.payments.map(({ contractId, ...payment }) => {
    const job = state.contracts.get(contractId)?.job;
    return {
      ...payment,
      invoiceKind: payment.status === 'PENDING_FUNDING' ? 'FUNDING' : 'PAYOUT',
      viewerRole: 'EMPLOYER',
      job: { id: job?.id ?? null, title: job?.title ?? null },
      milestone: { id: null, name: null },
    };
  });
  return { payments: payments.reverse() };
}

function readMember(call: EmployerCall) {
  const { state } = call.marketplace;
  const { conversationId, contractId, includeWorkEmail } = parseFields(MemberQuery, call.query);
  const contract = state.contracts.get(conversationId.replace(/^dm_/, ''));
  if (contract === undefined || accountOf(state, contract) !== call.account) {
    throw new AppError('not_found', 'There is no such conversation');
  }
  const [trainer] = contract.participants;
  if (contract.id !== contractId || trainer === undefined) return { membership: 'none' };
  const { opentrainUserId: userId, displayName, workEmail } = trainer;
  const isAsked = includeWorkEmail === true && isGranted(call.token.scopes, 'participant_work_email:read');
  const mayShow = isAsked && !state.unsharedWorkEmails.has(userId);
  // Assumed: null means that the address is shared but does not exist yet.
  return { membership: { userId, contractId, displayName, role: 'FREELANCER', ...(mayShow && { workEmail }) } };
}
