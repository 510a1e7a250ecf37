import type { WaitingInvitation } from '../converge/handover-store.ts';

/**
 * What a trainer waits for: an address, the mail, an operator who hands the invitation over, another invitation that
 * is being made, or an operator who renews an expired one.
 */
export type WaitedFor = 'work_email' | 'mail' | 'operator' | 'new_invitation' | 'renewal';

/** Pure. @param hasMail whether mail is configured */
export function waitsFor(
  invitation: WaitingInvitation,
  { now, hasMail }: { now: string; hasMail: boolean },
): Exclude<WaitedFor, 'work_email'> {
  const { kind, expiresAt, nextAttemptAt } = invitation;
  if (invitation.isRenewalWanted) return 'new_invitation';
  if (expiresAt !== null && expiresAt <= now) return 'renewal';
  const isMailed = hasMail && kind === 'link' && nextAttemptAt !== null;
  return isMailed && invitation.isReachable ? 'mail' : 'operator';
}
