import { AppError } from '../../domain/errors.ts';
import { activateMilestone, endContract, hire } from '../contract-control.ts';
import type { Resolution } from '../control-request-schema.ts';
import { Refusal, refusalOf } from '../error-response.ts';
import type { Marketplace } from '../marketplace.ts';
import { raiseFeed, raiseJobNews, raiseMilestoneNews } from '../raise-events.ts';
import { findOwned, type Milestone } from '../sandbox-state.ts';
import { type Approval, type SandboxAccount, site } from './account.ts';
import { findContract, findMilestone, type Owner, requireProposal } from './employer-route.ts';

/** What a person must confirm, because it moves money (spec: part A sections 1, 2.6 and 3). */

const lifeMs = 72 * 3_600_000;

type Subject = Pick<Approval, 'type' | 'jobId'> & Partial<Pick<Approval, 'contractId' | 'milestoneId' | 'proposalId'>>;

/** Only for the end of a contract is a pending approval answered again (spec: part A section 4.6). */
export function askApproval({ marketplace, account }: Owner, subject: Subject) {
  const { ids, now } = marketplace;
  const wanted = { contractId: null, milestoneId: null, proposalId: null, ...subject, status: 'pending' } as const;
  expireApprovals(marketplace, account);
  const isSame = (one: Approval) =>
    Object.entries(wanted).every(([name, value]) => one[name as keyof Subject] === value);
  const message = 'A person must confirm it at the approvalUrl.';
  const pending = wanted.type === 'contract_end' ? account.approvals.find(isSame) : undefined;
  if (pending !== undefined) return { approval: pending, message };
  const id = ids.next('apr');
  const times = { createdAt: now(), expiresAt: now(lifeMs), resolvedAt: null };
  const approval: Approval = { id, ...wanted, approvalUrl: `${site}/approvals/${id}`, ...times, result: null };
  account.approvals.push(approval);
  return { approval, message };
}

/** An overdue approval expires when it is next read (spec: part A section 3). */
export function expireApprovals(marketplace: Marketplace, account: SandboxAccount): void {
  const now = marketplace.now();
  for (const { id, status, expiresAt } of account.approvals) {
    if (status === 'pending' && expiresAt <= now) resolveApproval(marketplace, id, 'expired');
  }
}

/** A person confirms or declines the approval, or it expires. The event is the same for all. */
export function resolveApproval(marketplace: Marketplace, approvalId: string, status: Resolution) {
  const { state, now } = marketplace;
  const { account, found: approval } = findOwned(state, 'approval', approvalId, ({ approvals }) => approvals);
  if (approval.status !== 'pending') throw new AppError('conflict', `The approval is ${approval.status}`);
  // What cannot be done leaves the approval pending.
  if (status === 'confirmed') approval.result = acts[approval.type]({ marketplace, account }, approval);
  approval.status = status;
  approval.resolvedAt = now();
  const data = { approvalId, status };
  const { jobId = null } = approval;
  raiseFeed(marketplace, account, 'approval.confirmed', { resourceId: approvalId, jobId, data });
  return data;
}

/** What follows when a person confirms, with the result. The ids are those of the type. */
const acts: Record<Approval['type'], (owner: Owner, approval: Approval) => Record<string, unknown>> = {
  proposal_hire(owner, approval) {
    const { marketplace } = owner;
    const proposal = requireProposal(owner, approval.proposalId ?? '');
    const { jobId, trainer } = proposal;
    if (proposal.status === 'ACCEPTED') throw refusalOf('already_accepted');
    const trainers = [{ opentrainUserId: trainer.opentrainUserId }];
    const { contractId } = hire(marketplace, { jobId, trainers }, proposal);
    proposal.status = 'ACCEPTED';
    approval.contractId = contractId;
    const data = { proposalId: proposal.id, status: proposal.status };
    raiseJobNews(marketplace, proposal.job, 'proposal.status_changed', proposal.id, data);
    return { contractId };
  },
  milestone_fund(owner, { milestoneId }) {
    const { marketplace, account } = owner;
    const { contract, milestone } = requireFundable(owner, milestoneId);
    const amountCents = Math.round(milestone.amountUsd * 100);
    if (balanceOf(account) >= amountCents) addEntry(owner, 'CHARGE', -amountCents, `Funding of ${milestone.name}`);
    activateMilestone(marketplace, contract, milestone);
    milestone.invoiceId = marketplace.ids.next('inv');
    return { invoiceId: milestone.invoiceId };
  },
  milestone_approve(owner, { milestoneId }) {
    const { contract, milestone } = requireReleasable(owner, milestoneId);
    milestone.status = 'COMPLETED';
    raiseMilestoneNews(owner.marketplace, contract, milestone);
    return { milestoneId, status: milestone.status };
  },
  contract_end(owner, { contractId }) {
    const { id, status } = findContract(owner, contractId ?? '');
    if (status === 'active') endContract(owner.marketplace, id);
    return { contractId: id, status: 'ended' };
  },
};

type Asked = string | null | undefined;

/** @throws Refusal */
export function requireFundable(owner: Owner, milestoneId: Asked) {
  const found = findMilestone(owner, milestoneId ?? '');
  if (found.contract.status === 'ended') throw refusalOf('contract_ended');
  requireStatus(found.milestone, 'NOT_FUNDED');
  requireMoney(owner.account, found.milestone.amountUsd);
  return found;
}

/** @throws Refusal */
export function requireReleasable(owner: Owner, milestoneId: Asked) {
  const found = findMilestone(owner, milestoneId ?? '');
  requireStatus(found.milestone, 'ACTIVE_FUNDED');
  return found;
}

function requireStatus({ status }: Milestone, wanted: Milestone['status']): void {
  if (status !== wanted) throw new Refusal('conflict', `The milestone is ${status}`, { status });
}

/** The credits are used before the card. @throws Refusal */
export function requireMoney(account: SandboxAccount, amountUsd: number): void {
  if (account.hasCard || balanceOf(account) >= amountUsd * 100) return;
  throw refusalOf('payment_method_required', { billingUrl: `${site}/billing` });
}

/** Of the credits, in cents. */
export function balanceOf({ ledger }: SandboxAccount): number {
  return ledger.reduce((total, { amountCents }) => total + (amountCents ?? 0), 0);
}

export function addEntry(
  { marketplace: { ids, now }, account }: Owner,
  type: 'TOP_UP' | 'CHARGE',
  amountCents: number,
  description: string,
): void {
  account.ledger.push({ id: ids.next('led'), type, amountCents, description, createdAt: now() });
}
