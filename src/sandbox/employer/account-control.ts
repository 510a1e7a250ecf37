import { AppError } from '../../domain/errors.ts';
import { personalScopes } from '../../marketplace/contract/account.ts';
import { fundMilestone } from '../contract-control.ts';
import type { NewAccount } from '../control-request-schema.ts';
import type { Marketplace } from '../marketplace.ts';
import type { Wanted } from '../parse-request.ts';
import { raiseFeed } from '../raise-events.ts';
import { findIn, findOwned } from '../sandbox-state.ts';
import { type PendingPayment, type PersonalToken, type SandboxAccount, toAccount } from './account.ts';
import { addEntry } from './approvals.ts';
import { addWorkspace } from './workspace.ts';

const ownerEmail = 'employer@example.com';

/** The personal token is shown only here. */
export function createAccount(marketplace: Marketplace, wanted: NewAccount = {}) {
  const { state, ids, now } = marketplace;
  const { organizationId = ids.next('org'), name = 'Employer', isClaimed = true, featuresOff } = wanted;
  const email = wanted.ownerEmail === undefined ? ownerEmail : wanted.ownerEmail;
  const owner = { userId: ids.next('usr'), role: 'OWNER', name: 'Erin Employer', email, joinedAt: now() };
  const account = { ...toAccount(organizationId, name, owner, featuresOff), isClaimed };
  if (state.accounts.has(account.id)) throw new AppError('conflict', 'The organization already has an account');
  state.accounts.set(account.id, account);
  addWorkspace(marketplace, account, `wsp_${account.id}`, 'Instructions');
  const { value } = addToken(marketplace, account, { scopes: wanted.scopes ?? [...personalScopes] });
  return { accountId: account.id, ownerUserId: account.ownerUserId, token: value };
}

export function addToken(
  { ids, now }: Marketplace,
  account: SandboxAccount,
  { name = 'API token', scopes, expiresAt = null }: Pick<PersonalToken, 'scopes'> & Partial<PersonalToken>,
): PersonalToken {
  const times = { createdAt: now(), lastUsedAt: null, expiresAt, revokedAt: null };
  const token = { id: ids.next('tok'), name, value: ids.nextCredential('ot_pat'), scopes, ...times, refused: 0 };
  account.tokens.push(token);
  return token;
}

/** All tokens of the account stop working, without an event. */
export function revokeAccountTokens({ state, now }: Marketplace, accountId: string) {
  const { tokens } = findIn(state.accounts, 'account', accountId);
  for (const token of tokens) token.revokedAt ??= now();
  return { accountId, tokens: 'revoked' };
}

/** A person makes the account theirs, at the address that the agent got (spec: part A section 5). */
export function claimAccount({ state, now }: Marketplace, accountId: string) {
  const account = findIn(state.accounts, 'account', accountId);
  const { isClaimed, claim, members } = account;
  if (isClaimed) throw new AppError('conflict', 'The account is already claimed');
  if (claim && claim.expiresAt <= now()) throw new AppError('conflict', 'The claim has expired');
  account.isClaimed = true;
  members[0].email ??= ownerEmail;
  return { accountId, isClaimed: account.isClaimed };
}

/** Fields that are left out keep their value. */
export function setAccount(
  { state }: Marketplace,
  accountId: string,
  { featuresOff, ...switches }: Wanted<'AccountSwitches'>,
) {
  const account = findIn(state.accounts, 'account', accountId);
  Object.assign(account, switches, featuresOff && { featuresOff: new Set(featuresOff) });
  const { hasCard, hasTeam } = account;
  return { accountId, hasCard, hasTeam, featuresOff: [...account.featuresOff] };
}

/** Whether agents can register: not at all, or no more for now. */
export function setRegistration({ state }: Marketplace, { refusal }: Wanted<'Registration'>) {
  state.registrationRefusal = refusal;
  return { refusal };
}

/** Whether a trainer shares the address, and when the marketplace has created it. There are no events about this. */
export function setWorkEmail({ state }: Marketplace, trainerId: string, { workEmail, isShared }: Wanted<'WorkEmail'>) {
  const trainer = findIn(state.trainers, 'trainer', trainerId);
  if (workEmail !== undefined) trainer.workEmail = workEmail;
  if (isShared === true) state.unsharedWorkEmails.delete(trainerId);
  if (isShared === false) state.unsharedWorkEmails.add(trainerId);
  return { trainerId };
}

/** Any event, whatever the sandbox has stored. */
export function raiseNews(
  marketplace: Marketplace,
  accountId: string,
  { type, jobId = null, ...subject }: Wanted<'FeedNews'>,
) {
  raiseFeed(marketplace, findIn(marketplace.state.accounts, 'account', accountId), type, { ...subject, jobId });
  return { accountId, type };
}

/** The event says that an invoice is pending. Only the list shows the amount and where to pay. */
export function billContract(
  marketplace: Marketplace,
  contractId: string,
  { amountUsd = 200, status = 'PENDING_FUNDING', paymentUrl }: Wanted<'Bill'> = {},
): PendingPayment {
  const { state, ids, now } = marketplace;
  const { job } = findIn(state.contracts, 'contract', contractId);
  const account = findIn(state.accounts, 'account', job.organizationId);
  const payment: PendingPayment = {
    id: ids.next('inv'),
    status,
    invoiceKind: status === 'PENDING_FUNDING' ? 'FUNDING' : 'PAYOUT',
    viewerRole: 'EMPLOYER',
    contractId,
    amountUsd,
    createdAt: now(),
    invoiceNumber: account.feed.length + 1,
    job: { id: job.id, title: job.title },
    milestone: { id: null, name: null },
    ...(paymentUrl !== undefined && { paymentUrl }),
  };
  account.payments.push(payment);
  const data = { invoiceId: payment.id, milestoneId: null, contractId };
  raiseFeed(marketplace, account, 'payment.pending', { resourceId: payment.id, jobId: job.id, data });
  return { ...payment };
}

/** A person pays a top-up or an invoice, which may fund a milestone; or the invoice is cancelled, without an event. */
export function settlePayment(
  marketplace: Marketplace,
  paymentId: string,
  { outcome = 'paid' }: Wanted<'Settle'> = {},
) {
  if (outcome === 'paid' && paymentId.startsWith('top_')) {
    payTopUp(marketplace, paymentId);
    return { paymentId, outcome };
  }
  const { account, found: payment } = findOwned(marketplace.state, 'pending payment', paymentId, (one) => one.payments);
  account.payments = account.payments.filter((one) => one !== payment);
  const { status, contractId, amountUsd } = payment;
  if (outcome === 'paid' && status === 'PENDING_FUNDING') fundMilestone(marketplace, contractId, { amountUsd });
  return { paymentId, outcome };
}

/** A person pays at the checkout, while its link lives. */
function payTopUp(marketplace: Marketplace, topUpId: string): void {
  const now = marketplace.now();
  const { account, found: topUp } = findOwned(marketplace.state, 'top-up', topUpId, ({ topUps }) => topUps);
  if (topUp.status !== 'PENDING') throw new AppError('conflict', 'The top-up was paid before');
  if ((topUp.expiresAt ?? now) <= now) throw new AppError('conflict', 'The link to pay has expired');
  Object.assign(topUp, { status: 'COMPLETED', completedAt: now });
  addEntry({ marketplace, account }, 'TOP_UP', topUp.amountCents ?? 0, 'Top-up of the credits');
}
