import { z } from 'zod';
import type { Context } from '../context.ts';
import { approvalStatuses, type StoredApprovalStatus } from '../domain/approval.ts';
import type { Wish } from '../hires/approval-kinds.ts';
import { askApproval, readApproval } from '../hires/ask-approval.ts';
import { followApproval, sayWaiting } from '../marketplace/follow-approval.ts';
import type { Call } from './operation.ts';
import { flag, maybeInstant, maybeText, named, text, waiting } from './values.ts';

/** Acts that move money, which a person confirms at the marketplace. */

const Asked = named('AskedApproval', {
  install: z.string(),
  subject: z.string().describe('The id of the proposal, the milestone or the contract.'),
  status: z.enum(approvalStatuses),
  approvalId: maybeText,
  url: maybeText.describe('Where a person confirms it.'),
  expiresAt: maybeInstant,
  contractId: maybeText,
});

type Asked = z.output<typeof Asked>;

/** The fields of every such act. */
export const asking = {
  again: flag('Ask once more although the answer to an earlier request was lost.'),
  wait: waiting.unwrap().default('0s').describe('How long to wait for the decision, up to 100s.'),
};

export const ofContract = text.describe('The id of the contract.');

const statuses: Partial<Record<StoredApprovalStatus, 0 | 2>> = { confirmed: 0, pending: 2 };

export const askedAnswer = {
  asks: 'marketplace',
  out: Asked,
  show({ subject, status, approvalId, url, expiresAt, contractId }: Asked) {
    if (status === 'pending') return sayWaiting({ id: approvalId ?? '', approvalUrl: url, expiresAt });
    if (status !== 'confirmed') return `The request for ${subject} is ${status}. Nothing was done.`;
    return `The request for ${subject} is confirmed${contractId === null ? '' : `: contract ${contractId}`}.`;
  },
  status: ({ status }: Asked) => statuses[status] ?? 1,
} as const;

/** Asks for it, and follows the decision as long as the caller wants to wait. */
export async function askPerson(ctx: Context, { by, signal }: Call, wish: Wish, wait: string): Promise<Asked> {
  const asked = await askApproval(ctx, by, wish, signal);
  const patience = AbortSignal.any([signal, AbortSignal.timeout(Number.parseInt(wait, 10) * 1000)]);
  return await followApproval(asked, (last) => readApproval(ctx, last, patience), patience);
}
