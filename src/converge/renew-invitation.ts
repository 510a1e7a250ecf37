import type { Invitation } from '../adapters/adapter.ts';
import type { Context } from '../context.ts';
import { toAppError } from '../domain/errors.ts';
import type { Attempt } from './claim-store.ts';
import type { ConvergeResult } from './converge-result.ts';
import { askTool, settledAs, toFailure, toolOf } from './converge-steps.ts';
import type { NewInvitation } from './invitation-store.ts';

/**
 * Renews the invitation of an invited member, if that is requested. If the tool refuses or is slow, only this
 * membership waits, because additions and removals do not depend on it.
 */
export async function renewWantedInvitation(ctx: Context, claim: Attempt): Promise<ConvergeResult> {
  const waiting = { operation: 'add', ...settledAs(ctx.clock, 'invited') } as const;
  const { renewInvitation } = toolOf(ctx, claim.tool).adapter;
  if (!claim.isRenewalWanted || renewInvitation === undefined || claim.memberId === null) {
    return { ...waiting, outcome: 'already_member' };
  }
  const member = { id: claim.memberId, email: claim.email };
  try {
    const renewed = await askTool(ctx, claim, (adapter, signal) =>
      renewInvitation.call(adapter, claim.groupId, member, signal),
    );
    const invitation = toNewInvitation(renewed, null);
    return { ...waiting, outcome: 'invited', ...(invitation !== undefined && { invitation }) };
  } catch (error) {
    if (claim.signal.aborted) throw error;
    return { ...toFailure(claim, toAppError(error), ctx.clock), isOfToolItself: false };
  }
}

/**
 * If one link is shared by all members, a removed member has it too. So the link must be reset, even if no member was
 * found. The reset is requested with the removal and done after it. Then one more look follows, and that look requests
 * no other reset.
 */
export function withReset(
  ctx: Context,
  { tool, state, missedAt }: Pick<Attempt, 'tool' | 'state' | 'missedAt'>,
  result: ConvergeResult,
): ConvergeResult {
  const isLastLook = state === 'removed' || missedAt !== null;
  if (toolOf(ctx, tool).adapter.resetInvitations === undefined || isLastLook) return result;
  return { ...result, wantsReset: true };
}

/** @param password the one that a login was made with; null if there is none */
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
