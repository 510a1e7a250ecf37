import { adviseOnDoubt } from '../converge/doubted-account.ts';
import type { Row } from '../db/schema.ts';
import { describeCause, isExplicit } from '../domain/standing.ts';
import { describeToolTrouble, type ToolTrouble } from '../domain/tool-trouble.ts';
import { maskText } from '../lib/mask.ts';
import { adviceOfTrouble } from '../lib/troubles.ts';
import type { KnownInvitation } from '../memberships/explain-store.ts';

/** What to say of one membership, and what to do about it. */
export interface JudgedMembership {
  holds: boolean;
  says: string;
  action: string;
  /** Whether its action is the one to take even where a reason does not hold. */
  comesFirst: boolean;
}

export interface Circumstances {
  /** Whether evidence has ended the reason that is explained. */
  hasEnded: boolean;
  /** The open plan that holds its removal. */
  plan: number | undefined;
  /** The trainer's invitation, where there is one to hand over. */
  invitation: KnownInvitation | undefined;
  /** Why calls to its tool are paused. */
  trouble: ToolTrouble | undefined;
  /** Whether another reason is recorded besides the explained one. */
  hasOthers: boolean;
}

/** Pure: explains where a trainer stands in a tool. */
export function explainMembership(membership: Row<'membership'>, circumstances: Circumstances): JudgedMembership {
  const { plan, invitation } = circumstances;
  const { state, failure } = membership;
  const why = failure === null ? '' : `: ${failure}`;
  const isToBeIn = membership.wanted && (state === 'invited' || state === 'active');
  const open = isToBeIn ? invitation : undefined;
  return {
    holds: state === 'active',
    says: `${sayWhere(membership, plan)}${sayInvitation(open)}${sayDoubt(membership) || why}`,
    action: adviseFirst(membership, open) ?? adviseOn(membership, circumstances),
    comesFirst: membership.doubtedId !== null || comesFirst(membership, circumstances),
  };
}

/** Advice that comes before all else. */
function adviseFirst({ id, tool, doubtedId }: Row<'membership'>, open: KnownInvitation | undefined): string | null {
  if (doubtedId !== null) return `see in ${tool} whose it is, then: ${adviseOnDoubt(id)}`;
  return open?.deliveredAt === null ? adviseToTell : null;
}

function sayDoubt({ doubtedId }: Row<'membership'>): string {
  if (doubtedId === null) return '';
  const account = maskText(doubtedId).slice(0, 60);
  return `; the account ${account}, which was theirs, shows an address that no source has reported for them`;
}

const adviseToTell = 'hand their invitation over: gangway members waiting says how';

function sayInvitation(invitation: KnownInvitation | undefined): string {
  if (invitation === undefined) return '';
  const { kind, deliveredAt, deliveredBy } = invitation;
  const what = kind === 'link' ? 'their link' : 'their password';
  if (deliveredAt === null) return `; ${what} waits to be handed over`;
  const how = deliveredBy === 'mail' ? 'mailed to them' : 'shown to an operator';
  return `; ${what} was ${how} at ${deliveredAt}`;
}

function sayWhere(membership: Row<'membership'>, plan: number | undefined): string {
  const { tool, groupId, state, wanted, memberId, missedAt, removeAfter } = membership;
  const group = `${groupId} of ${tool}`;
  // A trainer who was never found there may have got in by a call whose answer was lost.
  const isIn = `${memberId === null ? 'perhaps still' : 'still'} in ${group}`;
  const because = sayBecause(membership);
  if (state === 'removing' && missedAt !== null) {
    return `not found in ${group}, and looked for once more before they count as out${because}`;
  }
  switch (state) {
    case 'removing':
      return `${isIn}, ${sayRemoving(membership)}${because}`;
    case 'failed':
      return wanted ? `failed in ${group}` : `${isIn}, as their removal fails${because}`;
    case 'held':
      if (removeAfter !== null) return `${isIn}, to be removed once their work was read${because}`;
      return plan === undefined
        ? `${isIn}, as their removal was rejected${because}`
        : `${isIn}, as plan ${plan} holds their removal${because}`;
    case 'orphaned':
      return `kept in ${group}, where the configuration no longer leads`;
    case 'released':
      return `kept in ${group}: not ours to remove`;
    case 'removed':
      return `removed from ${group}`;
    default:
      return `${state} in ${group}`;
  }
}

function sayBecause({ cause }: Row<'membership'>): string {
  return cause === null ? '' : ` (because ${describeCause(cause)})`;
}

function sayRemoving({ removeAfter }: Row<'membership'>): string {
  return removeAfter === null ? 'to be removed now' : `to be removed after ${removeAfter}`;
}

/** The end of one reason does not apply to a trainer who is in for another. */
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
      if (removeAfter !== null) return 'nothing: an operator approved the removal';
      return plan === undefined
        ? 'nothing: an operator decided to keep them, until there is new evidence'
        : `decide about it: gangway plans show ${plan}`;
    case 'failed':
      return `mend what ${tool} says; ${sayNextTry(membership)}`;
    case 'orphaned':
      return `give the install, the tool or the project its name back, or end this with "gangway retire --install ${install}"`;
    case 'released':
      if (wanted) return `nothing: the account is protected (tools.${tool}.protected)`;
      return releasedBy === null
        ? `decide about it: gangway members adopt ${id} has them removed, gangway members release ${id} lets them stay`
        : `nothing: they stay; to have them removed: gangway members adopt ${id}`;
    default:
      return adviseOnMoving(membership, circumstances);
  }
}

/** The explained reason has ended, and the trainer is in. */
function adviseOnKept({ state, trainerId }: Row<'membership'>, { hasOthers }: Circumstances): string {
  if (!hasOthers) return 'wait: they are still in, and a running "gangway start" takes them out';
  const keeps = state === 'active' ? 'keeps them in' : 'keeps them invited';
  return `nothing: something else ${keeps}; see "gangway explain ${trainerId}"`;
}

/** A trainer who was in at the last look can log in for as long as that is so. */
function adviseOnPresent({ tool, state, nextAttemptAt }: Row<'membership'>, { trouble }: Circumstances): string {
  if (state === 'invited') return 'have them accept the invitation';
  if (trouble?.errorCode === 'unavailable') {
    return `see how ${tool} is: they are in, but ${tool} ${describeToolTrouble(trouble)}`;
  }
  if (nextAttemptAt !== null) {
    return `wait: they were in, and ${tool} is looked at again`;
  }
  return 'nothing: they can log in';
}

const isActedOn = 'wait: a running "gangway start" acts on what is known within seconds';

function adviseOnMoving(membership: Row<'membership'>, { trouble }: Circumstances): string {
  const { state, tool, cause, failure, removeAfter, missedAt } = membership;
  switch (state) {
    case 'waiting_email':
      return isActedOn;
    case 'removed':
      return cause === 'retired' ? 'nothing: an operator retired them' : isActedOn;
    case 'removing':
      if (missedAt !== null && failure === null && trouble === undefined) {
        return `nothing: ${tool} is looked at again at ${membership.nextAttemptAt}`;
      }
      if (removeAfter !== null && trouble === undefined) {
        return 'nothing: they are still in until its time has come, or other evidence';
      }
      break;
    default:
      break;
  }
  const isIn = state === 'removing' ? 'they are still in: ' : '';
  if (trouble !== undefined) {
    return `${adviceOfTrouble('tool_left_alone')}; ${isIn}${tool} ${describeToolTrouble(trouble)}`;
  }
  if (failure !== null) {
    return `see how ${tool} is: gangway doctor; ${sayNextTry(membership)}`;
  }
  return `wait: ${isIn}it is worked on; if it stays so, "gangway doctor" tells how ${tool} is`;
}

function sayNextTry({ nextAttemptAt }: Row<'membership'>): string {
  return nextAttemptAt === null
    ? 'it is tried again when there is new evidence'
    : `it is tried again at ${nextAttemptAt}`;
}
