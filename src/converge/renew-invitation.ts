import type { Adapter, Invitation } from '../adapters/adapter.ts';
import { toAppError } from '../domain/errors.ts';
import type { Clock } from '../lib/clock.ts';
import { callTool } from '../tools/call-tool.ts';
import type { Claim } from './claim-store.ts';
import { settledAs, toFailure } from './converge-steps.ts';
import type { NewInvitation } from './invitation-store.ts';
import type { ConvergeResult } from './settle-store.ts';

interface InvitationDeps {
  adapter: Adapter;
  timeoutMs: number;
  clock: Clock;
}

/**
 * Somebody who was invited and has not come yet: invites them anew where that is wanted. Where the
 * tool refuses that, or is slow about it, they wait alone: it says nothing of who is to be let in or
 * taken out.
 */
export async function renewWantedInvitation(
  deps: InvitationDeps,
  claim: Claim,
  signal: AbortSignal,
): Promise<ConvergeResult> {
  const { adapter, timeoutMs } = deps;
  const waiting = { operation: 'add', ...settledAs(deps.clock, 'invited') } as const;
  const { renewInvitation } = adapter;
  if (!claim.isRenewalWanted || renewInvitation === undefined || claim.memberId === null) {
    return { ...waiting, outcome: 'already_member' };
  }
  const member = { id: claim.memberId, email: claim.email };
  try {
    const renewed = await callTool(timeoutMs, signal, (callSignal) =>
      renewInvitation.call(adapter, claim.groupId, member, callSignal),
    );
    const invitation = toNewInvitation(renewed, null);
    return { ...waiting, outcome: 'invited', ...(invitation !== undefined && { invitation }) };
  } catch (error) {
    if (signal.aborted) throw error;
    return { ...toFailure(claim, toAppError(error), deps.clock), isOfToolItself: false };
  }
}

/**
 * Where one link lets everybody in, whoever is taken out has it too: so it is to be made worthless,
 * also where nobody was found. That is written down with the removal, and done after it. Then they
 * are looked for once more, and what that look settles needs no other link.
 */
export function withReset(
  { adapter }: Pick<InvitationDeps, 'adapter'>,
  { state, missedAt }: Pick<Claim, 'state' | 'missedAt'>,
  result: ConvergeResult,
): ConvergeResult {
  const isLastLook = state === 'removed' || missedAt !== null;
  if (adapter.resetInvitations === undefined || isLastLook) return result;
  return { ...result, wantsReset: true };
}

/** @param password the one that a login was made with; null where none was */
export function toNewInvitation(
  invitation: Invitation | undefined,
  password: string | null,
): NewInvitation | undefined {
  if (invitation === undefined) return undefined;
  const { kind, url } = invitation;
  if (kind === 'link') return { content: { kind, url }, expiresAt: invitation.expiresAt };
  if (password === null) return undefined;
  const { username } = invitation;
  return { content: { kind, url, username, password }, expiresAt: null };
}
