import type { ErrorCode } from '../domain/errors.ts';
import type { MembershipState, ReceiptOutcome, ToolOperation } from '../domain/membership.ts';
import type { NewInvitation } from './invitation-store.ts';

/** What acting on a claim led to, as it is settled. */
export interface ConvergeResult {
  operation: ToolOperation;
  outcome: ReceiptOutcome;
  state: MembershipState;
  /** The member's id as it was learnt. If it is left out, the stored one stays. */
  memberId?: string;
  isOurs?: boolean;
  /** Whether we made the account. It is left out if that was not learnt. */
  isAccountOurs?: boolean;
  /** When the tool made the account. */
  madeAt?: string;
  /** Whether the doubted account no longer matters. */
  isDoubtSettled?: true;
  /** When to try again; null if there is nothing left to do. */
  nextAttemptAt: string | null;
  errorCode?: ErrorCode;
  /** False if the failure says nothing about the state of the tool. */
  isOfToolItself?: false;
  retryAfterMs?: number | undefined;
  toolStatus?: number | undefined;
  message?: string | undefined;
  /** The invitation that the trainer needs to get in. */
  invitation?: NewInvitation;
  /** Whether a generated password is no longer needed. */
  hasPassword?: boolean;
  /** The accounts that the member may be in by, if absence cannot be proven, as they are shown. */
  mayBeIn?: readonly string[];
  /** Whether a call has an unknown outcome. */
  isUnanswered?: true;
  /** What must be confirmed by another look. If it is left out, the stored values stay. */
  unconfirmed?: Unconfirmed;
  /** Whether the shared link must be reset. */
  wantsReset?: boolean;
}

/** A result after it was settled. */
export interface SettledResult extends ConvergeResult {
  /** How long the trainer has waited for what the tool now shows for the first time; left out if it does not. */
  metAfterMs?: number;
}

export interface Unconfirmed {
  /** Until when a call with unknown outcome may still take effect. */
  lateUntil: string | null;
  /** When a look first did not find a member who is not wanted. */
  missedAt: string | null;
}

/** How many milliseconds the trainer has waited for what the tool now shows for the first time; null if it does not. */
export function metAfterOf(
  { wanted, unmetSince }: { wanted: boolean; unmetSince: string | null },
  { state }: Pick<ConvergeResult, 'state'>,
  now: string,
): number | null {
  const isMet = wanted ? state === 'active' || state === 'invited' : state === 'removed';
  return isMet && unmetSince !== null ? Math.max(0, Date.parse(now) - Date.parse(unmetSince)) : null;
}
