import { approvals, contracts, credits, milestones, payments } from '../../marketplace/contract/contracts.ts';
import { type AccountCall, type CallOf, forAccount, type Route } from '../api-router.ts';
import { budgetOf } from '../budget.ts';
import { addMilestone, endContract } from '../contract-control.ts';
import { Refusal, refusalOf } from '../error-response.ts';
import { toFreelancer, toPage, toPublicContract } from '../public-shapes.ts';
import { raiseMilestoneNews } from '../raise-events.ts';
import { accountOf, proposalIdOf, type SandboxContract } from '../sandbox-state.ts';
import { type Approval, site, type TopUp } from './account.ts';
import { askApproval, balanceOf, expireApprovals, requireFundable, requireReleasable } from './approvals.ts';
import { openDm } from './conversation.ts';
import { findContract, refuse, requireJob } from './employer-route.ts';

/** Contracts, milestones, approvals, credits and payments (spec: part A sections 4.6 and 4.7). */
export const contractRoutes: readonly Route[] = [
  forAccount(contracts.list, listContracts),
  forAccount(contracts.get, (call) => {
    const contract = findContract(call, call.input.contractId);
    const jobDmConversationId = openDm(call.account, contract).id;
    return { contract: { ...toEntry(contract), jobDmConversationId, budget: budgetOf(contract) } };
  }),
  forAccount(contracts.createMilestone, createMilestone),
  forAccount(contracts.end, (call) => end(call, call.input.contractId)),

  forAccount(milestones.fund, (call) => askFor(call, 'milestone_fund', requireFundable)),
  forAccount(milestones.approve, (call) => askFor(call, 'milestone_approve', requireReleasable)),
  forAccount(approvals.get, ({ marketplace, account, input: { approvalId } }) => {
    expireApprovals(marketplace, account);
    return { approval: account.approvals.find(({ id }) => id === approvalId) ?? refuse('approvals', { approvalId }) };
  }),
  forAccount(credits.topUp, startTopUp),
  forAccount(credits.getTopUp, ({ account, input: { topUpId } }) => ({
    ...(account.topUps.find(({ id }) => id === topUpId) ?? refuse('top-ups', { topUpId })),
  })),
  forAccount(credits.balance, ({ account }) => {
    const balanceCents = balanceOf(account);
    return { balanceUsd: balanceCents / 100, balanceCents, currency: 'USD' };
  }),
  forAccount(credits.ledger, ({ account, input }) =>
    toPage('entries', account.ledger.toReversed(), { limit: 50, ...input }),
  ),
  forAccount(payments.pending, ({ account }) => ({
    payments: account.payments.map(({ contractId: _, ...payment }) => payment).reverse(),
  })),
];

/** With cursors only if the marketplace is configured to have them. */
function listContracts(call: CallOf<typeof contracts.list>) {
  const { marketplace, account, input } = call;
  const { jobId, status, cursor } = input;
  if (jobId !== undefined) requireJob(call, jobId);
  const found = [...marketplace.state.contracts.values()]
    .filter((one) => accountOf(marketplace.state, one) === account)
    .filter((one) => (jobId === undefined || one.job.id === jobId) && (status === undefined || one.status === status))
    .map(toEntry)
    .reverse();
  return marketplace.options.cursors === true
    ? toPage('contracts', found, { cursor, limit: 50 }, ({ id }) => id)
    : { contracts: found };
}

function toEntry(contract: SandboxContract) {
  const { job, endDate, createdAt, participants, milestones } = contract;
  const [trainer] = participants;
  return {
    ...toPublicContract(contract),
    proposalId: proposalIdOf(contract),
    paymentType: job.paymentType,
    rateUsd: rateOf(contract),
    estimatedTotalUsd: null,
    estimatedVolume: null,
    hasActiveMilestone: milestones.some((one) => one.status === 'ACTIVE_FUNDED'),
    updatedAt: endDate ?? createdAt,
    freelancer: trainer && toFreelancer(trainer),
    milestones,
  };
}

function rateOf({ proposal }: SandboxContract): number {
  return proposal?.rateUsd ?? 20;
}

/** Of amount and volume, the one that is left out follows from the rate. */
function createMilestone(call: CallOf<typeof contracts.createMilestone>) {
  const contract = findContract(call, call.input.contractId);
  const { amountUsd: amount, volume: units } = call.input;
  if (contract.status === 'ended') throw refusalOf('contract_ended');
  if (amount === undefined && units === undefined) {
    throw new Refusal('invalid', 'amountUsd: either it or volume is needed', { field: 'amountUsd' });
  }
  const { amountUsd = (units ?? 0) * rateOf(contract), volume = (amount ?? 0) / rateOf(contract) } = call.input;
  const milestone = addMilestone(call.marketplace, contract, { ...call.input, amountUsd, volume });
  raiseMilestoneNews(call.marketplace, contract, milestone);
  return { milestone };
}

function end(call: AccountCall, contractId: string) {
  const contract = findContract(call, contractId);
  const { job } = contract;
  if (contract.status === 'ended') throw refusalOf('contract_ended');
  if (contract.milestones.some(({ status }) => status === 'ACTIVE_FUNDED')) {
    return askApproval(call, { type: 'contract_end', contractId, jobId: job.id });
  }
  // Without an event: only the list of contracts shows it.
  endContract(call.marketplace, contractId);
  return { ok: true, contractId, status: 'ended' };
}

function askFor(
  call: AccountCall & { input: { milestoneId: string } },
  type: Approval['type'],
  require: typeof requireFundable,
) {
  const { milestoneId } = call.input;
  const { id: contractId, job } = require(call, milestoneId).contract;
  return askApproval(call, { type, contractId, milestoneId, jobId: job.id });
}

const checkoutLifeMs = 24 * 3_600_000;

/** Nothing is charged until a person pays at the checkout. */
function startTopUp({ marketplace, account, input }: CallOf<typeof credits.topUp>) {
  const { ids, now } = marketplace;
  const times = { createdAt: now(), completedAt: null, expiresAt: now(checkoutLifeMs) };
  const amountCents = Math.round(input.amountUsd * 100);
  const topUp: TopUp = { id: ids.next('top'), status: 'PENDING', amountCents, ...times };
  account.topUps.push(topUp);
  const { id: topUpId, expiresAt } = topUp;
  const message = 'A person must pay at the checkoutUrl.';
  return { topUpId, checkoutUrl: `${site}/checkout/${topUpId}`, expiresAt, topUp, message };
}
