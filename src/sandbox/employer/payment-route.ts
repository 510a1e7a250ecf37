import type { PendingPayment } from './account.ts';
import type { Answered, EmployerCall, EmployerRoute } from './employer-route.ts';

/** Invoices that wait for a person, newest first (spec: part A sections 2.7 and 4.7). */
export const paymentRoute: EmployerRoute = {
  method: 'get',
  path: '/payments/pending',
  scopes: ['payments:read'],
  answer: listPending,
};

function listPending(call: EmployerCall): Answered {
  return { body: { payments: call.account.payments.map((one) => toEntry(call, one)).reverse() } };
}

function toEntry({ marketplace: { state } }: EmployerCall, { contractId, ...payment }: PendingPayment) {
  const job = state.contracts.get(contractId)?.job;
  return {
    ...payment,
    invoiceKind: payment.status === 'PENDING_FUNDING' ? 'FUNDING' : 'PAYOUT',
    viewerRole: 'EMPLOYER',
    job: { id: job?.id ?? null, title: job?.title ?? null },
    milestone: { id: null, name: null },
  };
}
