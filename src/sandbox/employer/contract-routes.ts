import { AppError } from '../../domain/errors.ts';
import { budgetOf } from '../budget.ts';
import { endContract } from '../contract-control.ts';
import { Refusal } from '../error-response.ts';
import type { Milestone, SandboxContract } from '../sandbox-state.ts';
import type { Approval } from './account.ts';
import { expireApprovals, requestEnd } from './account-control.ts';
import { ContractsOfJob, MemberQuery } from './employer-request-schema.ts';
import {
  type Answered,
  type EmployerCall,
  type EmployerRoute,
  findContract,
  isGranted,
  parseFields,
  requireJob,
} from './employer-route.ts';
import { accountOf } from './find-account.ts';

/** Contracts, their end, and who is on them (spec: part A section 4.6, part B section 4.2). */
export const contractRoutes: readonly EmployerRoute[] = [
  { method: 'get', path: '/contracts', scopes: ['payments:read'], answer: listContracts },
  { method: 'get', path: '/contracts/{id}', scopes: ['payments:read'], answer: readContract },
  {
    method: 'post',
    path: '/contracts/{id}/end',
    scopes: ['payments:write'],
    feature: 'public_api_payments_write',
    needsClaim: true,
    answer: end,
  },
  { method: 'get', path: '/approvals/{id}', scopes: ['payments:read'], answer: readApproval },
  {
    method: 'get',
    path: '/messaging/management/messaging_management.members.get',
    scopes: ['messages:read'],
    needsClaim: true,
    answer: readMember,
  },
];

/** With cursors only where the marketplace is made to have them. */
const pageSize = 50;

function listContracts(call: EmployerCall): Answered {
  const { marketplace, account, query } = call;
  const { jobId, status, cursor } = parseFields(ContractsOfJob, query);
  if (jobId !== undefined) requireJob(call, jobId);
  const found = [...marketplace.state.contracts.values()]
    .filter((one) => accountOf(marketplace.state, one) === account)
    .filter((one) => (jobId === undefined || one.job.id === jobId) && (status === undefined || one.status === status))
    .reverse();
  if (!marketplace.hasCursors) return { body: { contracts: found.map(toEntry) } };
  const first = cursor === undefined ? 0 : Number(cursor);
  const next = first + pageSize;
  const contracts = found.slice(first, next).map(toEntry);
  return { body: { contracts, nextCursor: next < found.length ? String(next) : null } };
}

function readContract(call: EmployerCall): Answered {
  const contract = findContract(call, call.id);
  const jobDmConversationId = conversationOf(contract);
  return { body: { contract: { ...toEntry(contract), jobDmConversationId, budget: budgetOf(contract) } } };
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

/** Work is never submitted here, so none awaits an approval. */
function toMilestone(milestone: Milestone, index: number) {
  const unknown = { description: null, dueDate: null, invoiceId: null };
  return { ...milestone, ...unknown, milestoneNumber: index + 1, pendingApproval: false, needsReview: false };
}

function end(call: EmployerCall): Answered {
  const { marketplace, account } = call;
  const contract = findContract(call, call.id);
  const { id: contractId, job } = contract;
  if (contract.status === 'ended') {
    throw new Refusal('conflict', 'The contract ended already', { reason: 'contract_ended' });
  }
  if (contract.milestones.some(({ status }) => status === 'ACTIVE_FUNDED')) {
    const approval = requestEnd(marketplace, account, { contractId, jobId: job.id });
    return { status: 202, body: { approval: toRecord(approval), message: 'A person must confirm the end.' } };
  }
  // No event says this: only the list of contracts shows it.
  endContract(marketplace, contractId);
  return { body: { ok: true, contractId, status: 'ended' } };
}

function readApproval({ marketplace, account, id }: EmployerCall): Answered {
  expireApprovals(marketplace, account);
  const approval = account.approvals.find((one) => one.id === id);
  if (approval !== undefined) return { body: { approval: toRecord(approval) } };
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

function readMember(call: EmployerCall): Answered {
  const { state } = call.marketplace;
  const { conversationId, contractId, includeWorkEmail } = parseFields(MemberQuery, call.query);
  const contract = state.contracts.get(conversationId.replace(/^dm_/, ''));
  if (contract === undefined || accountOf(state, contract) !== call.account) {
    throw new AppError('not_found', 'There is no such conversation');
  }
  const [trainer] = contract.participants;
  if (contract.id !== contractId || trainer === undefined) return { body: { membership: 'none' } };
  const { opentrainUserId: userId, displayName, workEmail } = trainer;
  const isAsked = includeWorkEmail === true && isGranted(call.token, 'participant_work_email:read');
  const mayShow = isAsked && !state.unsharedWorkEmails.has(userId);
  return {
    body: {
      membership: {
        userId,
        contractId,
        displayName,
        role: 'FREELANCER',
        // Assumed: null is an address that is shared and does not exist yet.
        ...(mayShow && { workEmail }),
      },
    },
  };
}
