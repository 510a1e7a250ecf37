import { AppError } from '../../domain/errors.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { endContract, fundMilestone } from '../contract-control.ts';
import type { Bill, FeedNews, NewAccount, Settle, WorkEmail } from '../control-request-schema.ts';
import type { Marketplace } from '../marketplace.ts';
import { accountOf, findIn } from '../sandbox-state.ts';
import type { Approval, PendingPayment, PersonalToken, SandboxAccount } from './account.ts';
import { employerScopes } from './employer-answer-schema.ts';
import { raiseFeed } from './raise-feed.ts';

/** The personal token is shown only here. */
export type CreatedAccount = ReturnType<typeof createAccount>;

export function createAccount(marketplace: Marketplace, wanted: NewAccount = {}) {
  const { state, ids } = marketplace;
  const account: SandboxAccount = {
    id: wanted.organizationId ?? ids.next('org'),
    ownerUserId: ids.next('usr'),
    isClaimed: wanted.isClaimed ?? true,
    featuresOff: new Set(wanted.featuresOff),
    tokens: [],
    approvals: [],
    payments: [],
    feed: [],
    manuals: [],
  };
  if (state.accounts.has(account.id)) throw new AppError('conflict', 'The organization already has an account');
  state.accounts.set(account.id, account);
  const { value } = addToken(marketplace, account, { scopes: wanted.scopes ?? [...employerScopes] });
  return { accountId: account.id, ownerUserId: account.ownerUserId, token: value };
}

export function addToken(
  { ids, clock }: Marketplace,
  account: SandboxAccount,
  { name = 'API token', scopes, expiresAt = null }: Pick<PersonalToken, 'scopes'> & Partial<PersonalToken>,
): PersonalToken {
  const token: PersonalToken = {
    id: ids.next('tok'),
    name,
    value: ids.nextCredential('ot_pat'),
    scopes,
    createdAt: toInstant(clock.now()),
    lastUsedAt: null,
    expiresAt,
    revokedAt: null,
    refused: 0,
  };
  account.tokens.push(token);
  return token;
}

/** All tokens of the account stop working, without an event. */
export function revokeAccountTokens({ state, clock }: Marketplace, accountId: string) {
  const { tokens } = findIn(state.accounts, 'account', accountId);
  for (const token of tokens) token.revokedAt ??= toInstant(clock.now());
  return { accountId, tokens: 'revoked' };
}

const approvalLifeMs = 72 * 3_600_000;

/** An overdue approval expires when it is next read (spec: part A section 3). */
export function expireApprovals(marketplace: Marketplace, account: SandboxAccount): void {
  const now = toInstant(marketplace.clock.now());
  for (const { id, status, expiresAt } of account.approvals) {
    if (status === 'pending' && expiresAt <= now) resolveApproval(marketplace, id, 'expired');
  }
}

/** A person must end a contract with a funded milestone, at the address in the approval. */
export function requestEnd(
  marketplace: Marketplace,
  account: SandboxAccount,
  { contractId, jobId }: Pick<Approval, 'contractId' | 'jobId'>,
): Approval {
  const { ids, clock } = marketplace;
  expireApprovals(marketplace, account);
  const pending = account.approvals.find((one) => one.contractId === contractId && one.status === 'pending');
  if (pending !== undefined) return pending;
  const approval: Approval = {
    id: ids.next('apr'),
    status: 'pending',
    contractId,
    jobId,
    createdAt: toInstant(clock.now()),
    expiresAt: instantIn(clock, approvalLifeMs),
    resolvedAt: null,
  };
  account.approvals.push(approval);
  return approval;
}

export type Resolution = Exclude<Approval['status'], 'pending'>;

/** A person confirms or declines the approval, or it expires. The event is the same for all. */
export function resolveApproval(marketplace: Marketplace, approvalId: string, status: Resolution) {
  const { state, clock } = marketplace;
  const found = [...state.accounts.values()].flatMap((account) =>
    account.approvals.filter(({ id }) => id === approvalId).map((approval) => ({ account, approval })),
  );
  const [{ account, approval } = {}] = found;
  if (account === undefined || approval === undefined) throw new AppError('not_found', `No approval ${approvalId}`);
  if (approval.status !== 'pending') throw new AppError('conflict', `The approval is ${approval.status}`);
  approval.status = status;
  approval.resolvedAt = toInstant(clock.now());
  const isActive = state.contracts.get(approval.contractId)?.status === 'active';
  if (status === 'confirmed' && isActive) endContract(marketplace, approval.contractId);
  const data = { approvalId, status };
  raiseFeed(marketplace, account, 'approval.confirmed', { resourceId: approvalId, jobId: approval.jobId, data });
  return data;
}

/** Whether a trainer shares the address, and when the marketplace has created it. There are no events about this. */
export function setWorkEmail({ state }: Marketplace, trainerId: string, { workEmail, isShared }: WorkEmail) {
  const trainer = findIn(state.trainers, 'trainer', trainerId);
  if (workEmail !== undefined) trainer.workEmail = workEmail;
  if (isShared === true) state.unsharedWorkEmails.delete(trainerId);
  if (isShared === false) state.unsharedWorkEmails.add(trainerId);
  return { trainerId };
}

/** An event about proposals, messages or invoices, which the sandbox does not store. */
export function raiseNews(marketplace: Marketplace, accountId: string, { type, jobId = null, ...subject }: FeedNews) {
  raiseFeed(marketplace, findIn(marketplace.state.accounts, 'account', accountId), type, { ...subject, jobId });
  return { accountId, type };
}

/** The event says that an invoice is pending. Only the list shows the amount and where to pay. */
export function billContract(marketplace: Marketplace, contractId: string, wanted: Bill = {}): PendingPayment {
  const { state, ids, clock } = marketplace;
  const contract = state.contracts.get(contractId);
  const account = contract && accountOf(state, contract);
  if (contract === undefined || account === undefined) {
    throw new AppError('not_found', `No contract ${contractId} of an employer with an account`);
  }
  const { amountUsd = 200, status = 'PENDING_FUNDING', paymentUrl } = wanted;
  const payment: PendingPayment = {
    id: ids.next('inv'),
    status,
    contractId,
    amountUsd,
    createdAt: toInstant(clock.now()),
    invoiceNumber: account.feed.length + 1,
    ...(paymentUrl !== undefined && { paymentUrl }),
  };
  account.payments.push(payment);
  const data = { invoiceId: payment.id, milestoneId: null, contractId };
  raiseFeed(marketplace, account, 'payment.pending', { resourceId: payment.id, jobId: contract.job.id, data });
  return { ...payment };
}

/** A person pays the invoice, which may fund a milestone; or it is cancelled, without an event. */
export function settlePayment(marketplace: Marketplace, paymentId: string, { outcome = 'paid' }: Settle = {}) {
  const accounts = [...marketplace.state.accounts.values()];
  const account = accounts.find(({ payments }) => payments.some(({ id }) => id === paymentId));
  const payment = account?.payments.find(({ id }) => id === paymentId);
  if (account === undefined || payment === undefined)
    throw new AppError('not_found', `No pending payment ${paymentId}`);
  account.payments = account.payments.filter((one) => one !== payment);
  const { status, contractId, amountUsd } = payment;
  if (outcome === 'paid' && status === 'PENDING_FUNDING') fundMilestone(marketplace, contractId, { amountUsd });
  return { paymentId, outcome };
}
