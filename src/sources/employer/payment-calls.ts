import type { Call } from '../http/caller.ts';
import { listWhole } from '../http/list-whole.ts';
import type { PendingPayment } from '../pending-payment.ts';
import type { Link, Source } from '../source.ts';
import { type Payment, PaymentList } from './employer-schema.ts';

interface Account {
  baseUrl: string;
  listLinks(signal: AbortSignal): Promise<Link[]>;
}

/** What waits for money (spec: part A sections 2.7 and 4.7). */
export function createListPendingPayments(
  call: Call,
  { baseUrl, listLinks }: Account,
): NonNullable<Source['listPendingPayments']> {
  const site = new URL(baseUrl).origin;
  return async (signal) => {
    const purpose = 'list what waits for money';
    const payments = await listWhole<Payment>({
      path: '/payments/pending',
      purpose,
      keyOf: ({ id }) => id,
      async readPage(path) {
        const { payments: records, ...paging } = await call({ path, purpose, answer: PaymentList }, signal);
        return { records, ...paging };
      },
    });
    const jobs = new Set((await listLinks(signal)).map(({ jobId }) => jobId));
    return payments.filter(isToPay).flatMap((one) => {
      const payment = toPending(one, site);
      // The other jobs of the account are the business of other installs, or of none.
      return payment.jobId === null || jobs.has(payment.jobId) ? [payment] : [];
    });
  };
}

/** Where the account is the one that is paid, no person of it has anything to do. */
function isToPay({ viewerRole }: Payment): boolean {
  return viewerRole !== 'FREELANCER';
}

function toPending({ paymentUrl, job, createdAt = null, ...one }: Payment, site: string): PendingPayment {
  const { id, amountUsd, invoiceNumber } = one;
  const url = paymentUrl == null ? site : new URL(paymentUrl).href;
  return { id, amountUsd, invoiceNumber, createdAt, jobId: job?.id ?? null, url };
}
