import { AppError } from '../../domain/errors.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { endContract } from '../contract-control.ts';
import type { FeedNews, NewAccount, WorkEmail } from '../control-request-schema.ts';
import type { Marketplace } from '../marketplace.ts';
import {
  type Approval,
  type EmployerScope,
  employerScopes,
  type PersonalToken,
  type SandboxAccount,
} from './account.ts';
import { findAccount } from './find-account.ts';

/** What people do with an employer's account at the marketplace itself. */

export interface CreatedAccount {
  accountId: string;
  ownerUserId: string;
  /** The personal token, which is shown only here. */
  token: string;
}

export function createAccount(marketplace: Marketplace, wanted: NewAccount = {}): CreatedAccount {
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
  if (state.accounts.has(account.id)) throw new AppError('conflict', 'The organization has an account already');
  state.accounts.set(account.id, account);
  const { value } = addToken(marketplace, account, { scopes: wanted.scopes ?? [...employerScopes] });
  return { accountId: account.id, ownerUserId: account.ownerUserId, token: value };
}

export function addToken(
  { ids, clock }: Marketplace,
  account: SandboxAccount,
  {
    name = 'API token',
    scopes,
    expiresAt = null,
  }: { name?: string; scopes: EmployerScope[]; expiresAt?: string | null },
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

/** All tokens of the account stop working. No event says this. */
export function revokeAccountTokens({ state, clock }: Marketplace, accountId: string): void {
  for (const token of findAccount(state, accountId).tokens) token.revokedAt ??= toInstant(clock.now());
}

const approvalLifeMs = 72 * 3_600_000;

/** What is past its time expires when it is looked at next (spec: part A section 3). */
export function expireApprovals(marketplace: Marketplace, account: SandboxAccount): void {
  const now = toInstant(marketplace.clock.now());
  for (const { id, status, expiresAt } of account.approvals) {
    if (status === 'pending' && expiresAt <= now) resolveApproval(marketplace, id, 'expired');
  }
}

/** A contract with a funded milestone is ended by a person: the approval says where. */
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

/** A person confirms or declines it, or it expires. Each of these has the same event. */
export function resolveApproval(marketplace: Marketplace, approvalId: string, status: Resolution): void {
  const { state, clock, raiseFeed } = marketplace;
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
  raiseFeed(account, 'approval.confirmed', {
    resourceId: approval.id,
    jobId: approval.jobId,
    data: { approvalId: approval.id, status },
  });
}

/** What a trainer decides, and when the marketplace has made the address. No event says either. */
export function setWorkEmail({ state }: Marketplace, trainerId: string, { workEmail, isShared }: WorkEmail): void {
  const trainer = state.trainers.get(trainerId);
  if (trainer === undefined) throw new AppError('not_found', `No trainer ${trainerId}`);
  if (workEmail !== undefined) trainer.workEmail = workEmail;
  if (isShared === true) state.unsharedWorkEmails.delete(trainerId);
  if (isShared === false) state.unsharedWorkEmails.add(trainerId);
}

/** An event about what the sandbox itself does not hold: proposals, messages and invoices. */
export function raiseNews(
  { state, raiseFeed }: Marketplace,
  accountId: string,
  { type, jobId = null, ...said }: FeedNews,
): void {
  raiseFeed(findAccount(state, accountId), type, { ...said, jobId });
}
