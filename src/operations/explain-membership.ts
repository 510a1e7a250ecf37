import type { Row } from '../db/schema.ts';
import type { AddressMissing } from '../domain/evidence.ts';
import { describeRequired, type RequiredReadings } from '../domain/required-readings.ts';
import { describeCause, isExplicit } from '../domain/standing.ts';
import { describeToolTrouble, type ToolTrouble } from '../domain/tool-trouble.ts';
import { maskText } from '../lib/mask.ts';
import { adviceOfTrouble } from '../lib/troubles.ts';
import type { ExplainedPerson, KnownInvitation } from '../memberships/explain-store.ts';
import { adviseOnDoubt } from '../memberships/ownership-store.ts';

interface Circumstances {
  /** Whether evidence has ended the explained reason. */
  hasEnded: boolean;
  /** The open plan that holds its removal. */
  plan: number | undefined;
  /** The trainer's invitation, if there is one. */
  invitation: KnownInvitation | undefined;
  /** Why calls to its tool are paused. */
  trouble: ToolTrouble | undefined;
  /** What its removal waits for, if it is due. */
  required: RequiredReadings | undefined;
  /** Whether another reason is recorded besides the explained one. */
  hasOthers: boolean;
}

/** Pure: where a trainer is in a tool, and what to do about it. */
export function explainMembership(membership: Row<'membership'>, circumstances: Circumstances) {
  const { invitation } = circumstances;
  const { state, failure } = membership;
  const why = failure === null ? '' : `: ${failure}`;
  const isToBeIn = membership.wanted && (state === 'invited' || state === 'active');
  const open = isToBeIn ? invitation : undefined;
  return {
    holds: state === 'active',
    says: `${sayWhere(membership, circumstances)}${sayInvitation(open)}${sayDoubt(membership) || why}`,
    action: adviseFirst(membership, open) ?? adviseOn(membership, circumstances),
    /** Whether the action is the one to take even if a reason does not hold. */
    comesFirst: membership.doubtedId !== null || comesFirst(membership, circumstances),
  };
}

/** Advice that comes before all else. */
function adviseFirst({ id, tool, doubtedId }: Row<'membership'>, open: KnownInvitation | undefined): string | null {
  if (doubtedId !== null) return `Find out in ${tool} whose account it is, then run: ${adviseOnDoubt(id)}`;
  return open?.deliveredAt === null ? adviseToTell : null;
}

function sayDoubt({ doubtedId }: Row<'membership'>): string {
  if (doubtedId === null) return '';
  const account = maskText(doubtedId).slice(0, 60);
  return `; account ${account}, which was theirs, now shows an email that no source has reported for them`;
}

const adviseToTell = 'Send them their login: gangway members waiting shows how';

function sayInvitation(invitation: KnownInvitation | undefined): string {
  if (invitation === undefined) return '';
  const { kind, deliveredAt, deliveredBy } = invitation;
  const what = kind === 'link' ? 'their invitation link' : 'their password';
  if (deliveredAt === null) return `; ${what} has not been sent yet`;
  const how = deliveredBy === 'mail' ? 'mailed to them' : 'shown to an operator';
  return `; ${what} was ${how} at ${deliveredAt}`;
}

function sayWhere(membership: Row<'membership'>, { plan, required }: Circumstances): string {
  const { tool, groupId, state, wanted, memberId, missedAt, removeAfter, cause } = membership;
  const group = `${groupId} of ${tool}`;
  // A trainer who was never found there may have got in by a call whose answer was lost.
  const isIn = `${memberId === null ? 'May still be' : 'Still'} in ${group}`;
  const because = cause === null ? '' : ` (because ${describeCause(cause)})`;
  const after = removeAfter === null ? 'now' : `after ${removeAfter}`;
  const ends = `to be removed ${required === undefined ? after : describeRequired(required)}`;
  const holds = plan === undefined ? ': their removal was rejected' : `: plan ${plan} holds their removal`;
  const says: Record<typeof state, string> = {
    pending: `Not in ${group} yet`,
    waiting_email: `Not in ${group} yet: work email missing`,
    invited: `Invited to ${group}`,
    active: `Active in ${group}`,
    removing:
      missedAt === null
        ? `${isIn}, ${ends}${because}`
        : `Not found in ${group}; Gangway checks once more before it settles the removal${because}`,
    held: `${isIn}${removeAfter === null ? holds : `, ${ends}`}${because}`,
    failed: wanted ? `Sync with ${group} failed` : `${isIn}: their removal failed${because}`,
    removed: `Removed from ${group}`,
    released: `Kept in ${group}: not Gangway's to remove`,
    orphaned: `Kept in ${group}, which the configuration no longer covers`,
  };
  return says[state];
}

/** The end of one reason does not matter while another keeps the trainer in. */
function comesFirst(membership: Row<'membership'>, { hasEnded, trouble }: Circumstances): boolean {
  const { state, wanted, cause, failure } = membership;
  // An operator decided it, whatever is configured.
  if (cause === 'retired') return true;
  if (!hasEnded) return false;
  const isKept = wanted && (state === 'active' || state === 'invited');
  const isSaidOutright = cause !== null && isExplicit(cause);
  const isStuck = state === 'removing' && (failure !== null || trouble !== undefined);
  if (state === 'removing' && isSaidOutright) return true;
  return isKept || isStuck || ['held', 'failed', 'orphaned', 'released'].includes(state);
}

function adviseOn(membership: Row<'membership'>, circumstances: Circumstances): string {
  const { plan } = circumstances;
  const { id, tool, state, install, wanted, removeAfter, releasedBy } = membership;
  switch (state) {
    case 'active':
    case 'invited':
      return circumstances.hasEnded && wanted
        ? adviseOnKept(membership, circumstances)
        : adviseOnPresent(membership, circumstances);
    case 'held':
      if (removeAfter !== null) return 'Nothing. An operator approved the removal';
      return plan === undefined
        ? 'Nothing. An operator decided to keep them until there is new evidence'
        : `Decide on plan ${plan}: gangway plans show ${plan}`;
    case 'failed':
      return `Fix what ${tool} reports. ${sayNextTry(membership)}`;
    case 'orphaned':
      return `Put the name of the install, tool or project back, or run "gangway retire --install ${install}"`;
    case 'released':
      if (wanted) return `Nothing. The account is protected (tools.${tool}.protected)`;
      return releasedBy === null
        ? `Decide: gangway members adopt ${id} (remove), or gangway members release ${id} (keep)`
        : `Nothing. They stay. To remove them, run gangway members adopt ${id}`;
    default:
      return adviseOnMoving(membership, circumstances);
  }
}

/** The explained reason has ended, and the trainer is in. */
function adviseOnKept({ state, trainerId }: Row<'membership'>, { hasOthers }: Circumstances): string {
  if (!hasOthers) return 'Wait. They are still in, and a running "gangway start" removes them';
  const keeps = state === 'active' ? 'keeps them in' : 'keeps them invited';
  return `Nothing. Another reason ${keeps}: see "gangway explain ${trainerId}"`;
}

function adviseOnPresent({ tool, state, nextAttemptAt }: Row<'membership'>, { trouble }: Circumstances): string {
  if (state === 'invited') return 'Have them accept the invitation';
  if (trouble?.errorCode === 'unavailable') {
    return `Check ${tool}. They are in, but ${tool} ${describeToolTrouble(trouble)}`;
  }
  if (nextAttemptAt !== null) {
    return `Wait. They were in, and Gangway checks ${tool} again`;
  }
  return 'Nothing. They can sign in';
}

const isActedOn = 'Wait. A running "gangway start" acts on this within seconds';

function adviseOnMoving(membership: Row<'membership'>, { trouble, required }: Circumstances): string {
  const { state, tool, cause, failure } = membership;
  if (state === 'waiting_email') return isActedOn;
  if (state === 'removed') return cause === 'retired' ? 'Nothing. An operator retired them' : isActedOn;
  const isIn = state === 'removing' ? 'They are still in. ' : '';
  if (trouble !== undefined) {
    return `${adviceOfTrouble('tool_left_alone')}. ${isIn}Tool ${tool} ${describeToolTrouble(trouble)}`;
  }
  const waits = state === 'removing' ? adviseOnRemoving(membership, required) : null;
  if (waits !== null) return waits;
  if (failure !== null) return `Check ${tool} with gangway doctor. ${sayNextTry(membership)}`;
  return `Wait. ${isIn}Gangway is working on it. If it stays this way, check ${tool} with "gangway doctor"`;
}

function adviseOnRemoving(
  { tool, failure, missedAt, nextAttemptAt, removeAfter }: Row<'membership'>,
  required: RequiredReadings | undefined,
): string | null {
  if (missedAt !== null && failure === null) return `Nothing. Gangway checks ${tool} again at ${nextAttemptAt}`;
  if (removeAfter === null) return null;
  const deadline = required === undefined ? removeAfter : `${required.deadline} at the latest`;
  return `Nothing. They are still in until ${deadline}, or until there is other evidence`;
}

function sayNextTry({ nextAttemptAt }: Row<'membership'>): string {
  return nextAttemptAt === null ? 'Gangway retries when there is new evidence' : `Gangway retries at ${nextAttemptAt}`;
}

/**
 * Pure: what is known about the address of a trainer.
 *
 * @param others installs of the same tool that know another address for the trainer
 */
export function explainAddress(
  person: ExplainedPerson | undefined,
  managedDomains: readonly string[],
  others: readonly string[],
): { holds: boolean; says: string; action: string } {
  const domain = person?.workEmailDomain ?? null;
  if (person?.hasAddress && domain === null) return { holds: true, says: 'Work email known', action: '' };
  if (domain === null) return { holds: false, ...unknownAddress[person?.addressMissing ?? 'unsaid'] };
  if (managedDomains.length > 0 && !managedDomains.includes(domain)) {
    return {
      holds: false,
      says: `The work email is at ${domain}, which is not a managed domain`,
      action: `Add ${domain} to marketplace.managedDomains if its people may be invited`,
    };
  }
  const says = `Work email known, at ${domain}`;
  if (others.length === 0) return { holds: true, says, action: '' };
  const have = `${others.join(', ')} ${others.length === 1 ? 'has' : 'have'}`;
  return { holds: true, says: `${says}; ${have} another, and each access keeps its own`, action: '' };
}

/** Why no address is known, and what makes one known. */
const unknownAddress: Record<AddressMissing | 'unsaid', { says: string; action: string }> = {
  unsaid: {
    says: 'Work email not known',
    action: 'Ask the customer for consent to share work emails (participants:email)',
  },
  no_scope: {
    says: 'Work email not known: the token may not read it',
    action: 'Give the token the scopes messages:read and participant_work_email:read',
  },
  refused: {
    says: 'Work email not known: the marketplace does not let the account read it',
    action: 'Have a person claim the account at the marketplace, and check that messages are on for it',
  },
  no_conversation: {
    says: 'Work email not known: it comes with a conversation, and the contract has none yet',
    action: 'If no conversation appears, write to the trainer at the marketplace',
  },
  not_shared: {
    says: 'Work email not known: the marketplace has not given the trainer one yet',
    action: 'Wait, and ask the marketplace if none appears',
  },
};
