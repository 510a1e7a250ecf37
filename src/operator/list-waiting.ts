import { listUndelivered, type WaitingInvitation } from '../converge/handover-store.ts';
import type { Storage } from '../keys/storage.ts';
import { type ListedMembership, listMemberships, type MembershipFilter } from '../memberships/membership-list-store.ts';

/** A trainer who waits: for a work email, or for an invitation to be handed over. */
export interface WaitingMember extends ListedMembership {
  waitsFor: WaitedFor;
  invitation: Pick<WaitingInvitation, 'kind' | 'expiresAt' | 'failure'> | null;
}

interface Wishes {
  tool?: string | undefined;
  after?: MembershipFilter['after'];
  limit: number;
  managedDomains: readonly string[];
  hasMail: boolean;
  now: string;
}

export async function listWaiting(
  { database: { kysely } }: Storage,
  { tool, after, limit, managedDomains, hasMail, now }: Wishes,
): Promise<WaitingMember[]> {
  const members = await listMemberships(kysely, { tool, isWaiting: true, after, limit });
  const ids = members.map(({ id }) => id);
  const waiting = await listUndelivered(kysely, managedDomains, ids);
  const invitations = new Map(waiting.map((one) => [one.membershipId, one]));
  return members.map((member) => {
    const found = invitations.get(member.id);
    if (found === undefined) return { ...member, waitsFor: 'work_email', invitation: null };
    const { kind, expiresAt, failure } = found;
    const invitation = { kind, expiresAt, failure };
    return { ...member, waitsFor: waitsFor(found, { now, hasMail }), invitation };
  });
}

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
