import { listFailingPayments, listPendingPayments } from '../budget/payment-store.ts';
import { mostNamed } from '../budget/payment-worker.ts';
import type { Row } from '../db/schema.ts';
import type { Storage } from '../keys/storage.ts';
import { type Attention, worryingFailures } from './attention.ts';

/**
 * What waits for money, and where a person sees to it.
 *
 * @param configured the existing installs: for others nothing is read any more
 */
export async function aboutPayments(
  ctx: Storage,
  configured: Pick<ReadonlyMap<string, unknown>, 'has'>,
): Promise<Attention[]> {
  const isConfigured = ({ install }: { install: string }) => configured.has(install);
  const waiting = (await listPendingPayments(ctx)).filter(isConfigured);
  const failing = (await listFailingPayments(ctx, worryingFailures)).filter(isConfigured);
  return [
    ...waiting.slice(0, mostNamed).map(toAttention),
    ...aboutOthers(waiting.length - mostNamed),
    ...failing.map(({ install, failure }) => ({
      says: `what waits for money at ${install} cannot be read: ${failure}`,
      action: `check installs.${install}.token and its scopes; it is tried again by itself`,
      page: `/installs/${encodeURIComponent(install)}`,
    })),
  ];
}

function toAttention({ install, paymentId, amountUsd, jobId, url, firstSeenAt }: Row<'pendingPayment'>): Attention {
  const amount = amountUsd === null ? '' : ` of ${amountUsd} USD`;
  const job = jobId === null ? '' : ` for the job ${jobId}`;
  const says = `the payment ${paymentId}${amount}${job} of ${install} waits for a person, since ${firstSeenAt}`;
  return { says, action: `see to it at ${url}`, url };
}

function aboutOthers(count: number): Attention[] {
  return count <= 0 ? [] : [{ says: `other payments that wait for a person: ${count}`, action: 'see the marketplace' }];
}
