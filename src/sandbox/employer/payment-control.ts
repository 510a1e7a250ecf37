import { AppError } from '../../domain/errors.ts';
import { toInstant } from '../../lib/clock.ts';
import { fundMilestone } from '../contract-control.ts';
import type { Bill, Settle } from '../control-request-schema.ts';
import type { Marketplace } from '../marketplace.ts';
import type { PendingPayment } from './account.ts';
import { accountOf } from './find-account.ts';

/** What becomes of invoices that wait for a person. */

/** The event says that an invoice is pending; how much, and where it is paid, only the list shows. */
export function billContract(marketplace: Marketplace, contractId: string, wanted: Bill = {}): PendingPayment {
  const { state, ids, clock, raiseFeed } = marketplace;
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
  raiseFeed(account, 'payment.pending', { resourceId: payment.id, jobId: contract.job.id, data });
  return { ...payment };
}

/** A person pays it, which funds a milestone where it was for funding; or it is cancelled, and no event says that. */
export function settlePayment(marketplace: Marketplace, paymentId: string, { outcome = 'paid' }: Settle = {}): void {
  const account = [...marketplace.state.accounts.values()].find(({ payments }) =>
    payments.some(({ id }) => id === paymentId),
  );
  const payment = account?.payments.find(({ id }) => id === paymentId);
  if (account === undefined || payment === undefined) throw new AppError('not_found', `No payment ${paymentId} waits`);
  account.payments = account.payments.filter((one) => one !== payment);
  const { status, contractId, amountUsd } = payment;
  if (outcome === 'paid' && status === 'PENDING_FUNDING') fundMilestone(marketplace, contractId, { amountUsd });
}
