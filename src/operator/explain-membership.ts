import type { MembershipRow } from '../db/tables.ts';
import { adviseOnDoubt } from '../engine/doubted-account.ts';
import { maskText } from '../lib/mask.ts';
import type { KnownInvitation } from './explain-store.ts';

/** What is to be said of one membership, and what to do about it. */
export interface JudgedMembership {
  holds: boolean;
  says: string;
  action: string;
  /** Whether its action is the one to take even where a reason for it does not hold. */
  comesFirst: boolean;
}

export interface Circumstances {
  /** Whether the reason that is being explained has fallen by evidence. */
  hasFallen: boolean;
  /** The open plan that it is held in. */
  plan: number | undefined;
  /** What they get in with, if they have to be told. */
  invitation: KnownInvitation | undefined;
}

/** Pure: where somebody stands in a tool. */
export function judgeMembership(
  membership: MembershipRow,
  { hasFallen, plan, invitation }: Circumstances,
): JudgedMembership {
  const { state, failure } = membership;
  const why = failure === null ? '' : `: ${failure}`;
  const isToBeIn = membership.wanted === 1 && (state === 'invited' || state === 'active');
  const told = isToBeIn ? invitation : undefined;
  return {
    holds: state === 'active',
    says: `${sayWhere(membership, plan)}${sayTold(told)}${sayDoubt(membership) || why}`,
    action: adviseFirst(membership, told) ?? adviseOn(membership, hasFallen, plan),
    comesFirst: membership.doubtedId !== null || comesFirst(membership, hasFallen),
  };
}

/** What holds up, or may lead astray, all else. */
function adviseFirst(
  { id, tool, doubtedId }: MembershipRow,
  told: KnownInvitation | undefined,
): string | null {
  if (doubtedId !== null) return `see in ${tool} whose it is, then: ${adviseOnDoubt(id)}`;
  return told?.deliveredAt === null ? adviseToTell : null;
}

function sayDoubt({ doubtedId }: MembershipRow): string {
  if (doubtedId === null) return '';
  const account = maskText(doubtedId).slice(0, 60);
  return `; the account ${account}, which was theirs, shows an address that nobody told for them`;
}

const adviseToTell = 'see that they are told how they get in: gangway members --waiting says how';

function sayTold(invitation: KnownInvitation | undefined): string {
  if (invitation === undefined) return '';
  const { kind, deliveredAt, deliveredBy } = invitation;
  const what = kind === 'link' ? 'their link' : 'their password';
  if (deliveredAt === null) return `; ${what} waits to be told to them`;
  const how = deliveredBy === 'mail' ? 'mailed to them' : 'shown to an operator';
  return `; ${what} was ${how} at ${deliveredAt}`;
}

function sayWhere(membership: MembershipRow, plan: number | undefined): string {
  const { tool, groupId, state, cause } = membership;
  const place = `${groupId} of ${tool}`;
  switch (state) {
    case 'removing':
      return `${sayRemoving(membership)} ${place} (${cause})`;
    case 'held':
      return plan === undefined
        ? `kept in ${place}: their removal (${cause}) was rejected`
        : `held in ${place} by plan ${plan} (${cause})`;
    case 'orphaned':
      return `kept in ${place}, where the configuration no longer leads`;
    case 'released':
      return `left in place in ${place}: not ours to remove`;
    case 'removed':
      return `removed from ${place}`;
    default:
      return `${state} in ${place}`;
  }
}

function sayRemoving({ removeAfter }: MembershipRow): string {
  if (removeAfter === null) return 'being removed from';
  return `to be removed after ${removeAfter} from`;
}

/** What ended says nothing of somebody who is in all the same. */
function comesFirst(membership: MembershipRow, hasFallen: boolean): boolean {
  const { state, wanted, cause, failure } = membership;
  // An operator's word, whatever is configured.
  if (cause === 'retired') return true;
  if (!hasFallen) return false;
  const isKept = wanted === 1 && (state === 'active' || state === 'invited');
  const isStuck = state === 'removing' && failure !== null;
  return isKept || isStuck || ['held', 'failed', 'orphaned', 'released'].includes(state);
}

function adviseOn(membership: MembershipRow, hasFallen: boolean, plan: number | undefined): string {
  const { id, tool, trainerId, state, install, wanted } = membership;
  const isKept = hasFallen && wanted === 1;
  switch (state) {
    case 'active':
      return isKept
        ? `nothing: something else keeps them in; see "gangway explain ${trainerId}"`
        : 'nothing: they can log in';
    case 'invited':
      return isKept
        ? `nothing: something else keeps them invited; see "gangway explain ${trainerId}"`
        : 'have them accept the invitation';
    case 'held':
      return plan === undefined
        ? 'nothing: an operator decided to keep them, until there is new evidence'
        : `decide about it: gangway plans show ${plan}`;
    case 'failed':
      return `mend what ${tool} says; ${sayNextTry(membership)}`;
    case 'orphaned':
      return `give the install, the tool or the project its name back, or end this with "gangway retire --install ${install}"`;
    case 'released':
      return wanted === 1
        ? `nothing: the account is protected (tools.${tool}.protected)`
        : `nothing: they stay; to have them removed: gangway members adopt ${id}`;
    default:
      return adviseOnMoving(membership);
  }
}

function adviseOnMoving(membership: MembershipRow): string {
  const { state, tool, cause, failure, removeAfter } = membership;
  switch (state) {
    case 'waiting_email':
      return 'ask the customer for consent to share work addresses (participants:email)';
    case 'removed':
      return cause === 'retired'
        ? 'nothing: an operator retired them'
        : 'wait: a running "gangway start" acts on what is known within seconds';
    case 'removing':
      if (removeAfter !== null) return 'nothing: it waits for its time, or for other evidence';
      break;
    default:
      break;
  }
  if (failure !== null) {
    return `see how ${tool} is: gangway doctor; ${sayNextTry(membership)}`;
  }
  return `wait: it is worked on; if it stays so, "gangway doctor" tells how ${tool} is`;
}

function sayNextTry({ nextAttemptAt }: MembershipRow): string {
  return nextAttemptAt === null
    ? 'it is tried again when there is new evidence'
    : `it is tried again at ${nextAttemptAt}`;
}
