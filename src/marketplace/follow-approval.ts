import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../domain/errors.ts';
import type { Client } from './client.ts';
import { Approval, approvals } from './contract/contracts.ts';

const [firstRestMs, longestRestMs] = [2000, 60_000];

/** @returns the approval as it was last read; it is pending only if the signal ended the wait */
export async function followApproval(client: Client, first: Approval, signal: AbortSignal): Promise<Approval> {
  let approval = first;
  for (let restMs = firstRestMs; approval.status === 'pending'; restMs = Math.min(restMs * 2, longestRestMs)) {
    await sleep(restMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) break;
    const read = client.callRaw(approvals.get, { approvalId: approval.id }, signal);
    approval = (await read.then(approvalIn).catch((error: unknown) => keepFollowing(error, signal))) ?? approval;
  }
  return approval;
}

/** The approval in an answer, with fields that the contract does not know. */
export function approvalIn(answer: unknown): Approval | undefined {
  return Approval.loose().safeParse(Object(answer).approval).data;
}

/** A person has three days to decide, and the marketplace may be down for a while meanwhile. */
function keepFollowing(error: unknown, { aborted }: AbortSignal): undefined {
  if (aborted) return;
  if (error instanceof AppError && (error.code === 'unavailable' || error.code === 'rate_limited')) return;
  throw error;
}

export function toApprovalText({ id, approvalUrl, expiresAt }: Approval): string {
  const until = expiresAt === null ? '' : ` until ${expiresAt}`;
  return `The approval ${id} waits${until} for a person at the marketplace: ${approvalUrl ?? 'see your account there'}`;
}
