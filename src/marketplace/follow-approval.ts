import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../domain/errors.ts';
import { Approval } from './contract/contracts.ts';

const [firstRestMs, longestRestMs] = [2000, 60_000];

/** @returns the approval as it was last read; it is pending only if the signal ended the wait */
export async function followApproval<T extends { status: string }>(
  first: T,
  read: (approval: T) => Promise<T | undefined>,
  signal: AbortSignal,
): Promise<T> {
  let approval = first;
  for (let restMs = firstRestMs; approval.status === 'pending'; restMs = Math.min(restMs * 2, longestRestMs)) {
    await sleep(restMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) break;
    approval = (await read(approval).catch((error: unknown) => keepFollowing(error, signal))) ?? approval;
  }
  return approval;
}

/** A person has three days to decide, and the marketplace may be down for a while meanwhile. */
function keepFollowing(error: unknown, { aborted }: AbortSignal): undefined {
  if (aborted) return;
  if (error instanceof AppError && (error.code === 'unavailable' || error.code === 'rate_limited')) return;
  throw error;
}

/** The approval in an answer, with fields that the contract does not know. */
export function approvalIn(answer: unknown): Approval | undefined {
  return Approval.loose().safeParse(Object(answer).approval).data;
}

export function sayWaiting({ id, approvalUrl, expiresAt }: Pick<Approval, 'id' | 'approvalUrl' | 'expiresAt'>): string {
  const until = expiresAt === null ? '' : ` until ${expiresAt}`;
  return `The approval ${id} waits${until} for a person at the marketplace: ${approvalUrl ?? 'see your account there'}`;
}
